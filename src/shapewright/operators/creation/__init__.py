"""Facts of functions that make tensors."""

FACTS = {
    "is_view": "diag_embed_",
    "takes_sizes": "zeros ones empty randn rand new_zeros new_ones new_empty",
    "takes_size_first": "full new_full",
    "outgrows_inputs": "vander diag_embed diagflat",
    "mistaken_for": {"ones": "zeros"},
    "is_factory": """
        zeros ones full empty rand randn randint arange range linspace logspace tensor
        as_tensor asarray frombuffer scalar_tensor eye tril_indices triu_indices
        randperm empty_strided empty_permuted hann_window hamming_window blackman_window
        bartlett_window kaiser_window from_numpy fftfreq rfftfreq fft_fftfreq
        fft_rfftfreq zeros_like ones_like full_like empty_like rand_like randn_like
        randint_like new_zeros new_ones new_full new_empty new_tensor new_empty_strided
        new
    """,
    "is_sized_factory": """
        zeros ones empty rand randn full randint new_zeros new_ones new_empty new_full
        empty_strided empty_permuted new_empty_strided eye randperm hann_window
        hamming_window blackman_window bartlett_window kaiser_window
    """,
    "is_range_factory": "arange range linspace logspace",
    "takes_program_data": "tensor as_tensor asarray from_numpy frombuffer",
    "leaves_values_unset": """
        empty empty_strided empty_permuted empty_like new_empty new_empty_strided
    """,
    "ignores_given_values": """
        zeros_like ones_like full_like empty_like rand_like randn_like randint_like
        new_zeros new_ones new_full new_empty new_empty_strided
    """,
    "preallocates": """
        zeros zeros_like new_zeros empty empty_like new_empty ones ones_like new_ones
        full full_like new_full rand randn rand_like randn_like
    """,
    "collects_results": """
        tensor as_tensor from_numpy Tensor FloatTensor zeros empty zeros_like empty_like
        new_tensor
    """,
    "fills_with": {
        "zeros": 0, "zeros_like": 0, "new_zeros": 0, "zero": 0, "ones": 1,
        "ones_like": 1, "new_ones": 1,
    },
    "fill_value_at": {"full": 1, "full_like": 1, "new_full": 1, "fill_": 0},
    "follows_from_numbers": "arange linspace eye tril_indices triu_indices",
    "has_default_dtype": "zeros ones empty rand randn eye linspace logspace",
    "has_integer_dtype": "randint randperm tril_indices triu_indices",
    "has_dtype_of_values": "arange range full tensor",
    "is_drawn_by_hand": """
        arange linspace logspace zeros ones full empty eye tensor randint rand randn
        randperm zeros_like ones_like full_like tril_indices triu_indices
    """,
    "is_random": """
        rand randn randint randperm rand_like randn_like randint_like bernoulli
        bernoulli_ normal normal_ uniform_ random_ exponential_ geometric_ cauchy_
        log_normal_ multinomial poisson binomial _standard_gamma _sample_dirichlet
    """,
    "overwrites_all": """
        uniform_ normal_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_
        fill_ zero_
    """,
    "carries_guesses": "rand",
    "returns_indices": "multinomial",
    "replaces_loops": "arange tensor",
}  # fmt: skip
