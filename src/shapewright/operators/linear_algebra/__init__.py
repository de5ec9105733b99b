"""Facts of linear algebra and Fourier transforms."""

from math import inf

FACTS = {
    "outgrows_inputs": "kron cdist",
    "lies_within": {
        "cdist": (0.0, inf), "pairwise_distance": (0.0, inf),
        "cosine_similarity": (-1.0, 1.0),
    },
    "keeps_triangle": "tril triu tril_ triu_",
    "pulls_together": "cosine_similarity",
    "pairs_operands": "cosine_similarity",
    "lays_by_columns": """
        qr svd geqrf ormqr lu_solve lu_unpack triangular_solve cholesky cholesky_solve
        cholesky_inverse inverse
    """,
    "autocast_full_cpu": """
        _lu_with_info cdist cholesky cholesky_inverse cholesky_solve fft_fft fft_fft2
        fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2
        fft_irfftn fft_rfft fft_rfft2 fft_rfftn geqrf inverse linalg_cholesky
        linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals
        linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
        linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals
        linalg_tensorinv linalg_tensorsolve lu_solve orgqr ormqr pinverse qr stft svd
        trace triangular_solve
    """,
    "autocast_full_cuda": "cdist cosine_similarity pdist",
    "autocast_widest_cuda": "cross",
    "autocast_name": {
        "linalg_cross": "cross", "_cdist_forward": "cdist",
        "linalg_inv_ex": "linalg_inv",
    },
    "contains_autocast": """
        corrcoef cosine_similarity cov kron linalg_matrix_exp logdet matrix_exp
        pairwise_distance
    """,
}  # fmt: skip
