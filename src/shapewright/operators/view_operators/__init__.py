"""Facts of views and casts."""

FACTS = {
    "is_view": """
        view view_as reshape reshape_as transpose swapaxes swapdims t T mT H mH permute
        movedim moveaxis expand expand_as broadcast_to squeeze unsqueeze flatten
        unflatten ravel narrow select slice diagonal unfold contiguous real imag
        view_as_real view_as_complex as_strided type_as alias positive resolve_conj
        resolve_neg conj adjoint broadcast_tensors atleast_1d atleast_2d atleast_3d
        float double half bfloat16 int long short char byte bool cfloat cdouble chalf
        linalg_diagonal select_scatter_ squeeze_multiple unflatten_dense_tensors
        swapdims_ view_as_real_copy_ type values_ indices_ align_to __reversed___
        slice_inverse
    """,
    "regroups_dims": "view reshape flatten unflatten view_as reshape_as ravel",
    "copies_if_needed": "reshape reshape_as flatten ravel",
    "stretches_dims": "expand expand_as broadcast_to",
    "takes_new_sizes": "view reshape unflatten",
    "takes_entry_per_dim": "permute expand",
    "takes_sizes": "view reshape expand broadcast_to",
    "transposes_dims": "T t mT transpose swapaxes swapdims",
    "moves_dims": "transpose permute unsqueeze squeeze swapaxes",
    "removes_dims": {"unsqueeze": -1, "squeeze": 1},
    "shows_elements": """
        view reshape flatten squeeze unsqueeze transpose t T permute movedim expand
        expand_as view_as unflatten ravel select narrow contiguous clone
    """,
    "shows_range": "unsqueeze view expand transpose permute",
    "keeps_shape": "float half double type_as contiguous clone flip roll type bfloat16",
    "changes_tensor_itself": """
        t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ resize_ resize_as_
        as_strided_
    """,
    "may_be_superfluous": """
        unsqueeze squeeze transpose permute flatten t contiguous expand view reshape
    """,
    "mistaken_for": {"view": "reshape", "expand": "repeat"},
    "counts_truths": "float double long int",
    "carries_guesses": "flip half bfloat16 short byte bool type type_as",
    "reads_sign": "float double half int short type",
    "leads_to_softmax": "float",
    "keeps_mask": "bool unsqueeze view expand contiguous type clone",
    "keeps_elements": """
        view_as reshape_as expand expand_as clone float double half bfloat16 int long
        type type_as contiguous
    """,
    "leads_to_loss": "float double half clone contiguous type",
    "computes_each_element": "float double half bfloat16 int long bool clone",
    "replaces_loops": "permute transpose diagonal expand_as flatten t",
    "rounds": "int char byte",
    "keeps_weights": """
        view reshape flatten unflatten permute transpose T t mT swapaxes movedim
        unsqueeze squeeze expand contiguous type float half bfloat16 double type_as
        clone narrow select expand_as view_as swapdims flip roll
    """,
    "treats_samples_alone": "clone",
    "accepts_cpu_tensor": "type_as",
    "autocast_full_cpu": "view_as_complex",
}  # fmt: skip
