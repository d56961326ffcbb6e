"""Names that scikit-learn and pandas removed, and names of other packages that programs meet."""

from __future__ import annotations

from compatgrad.surroundings._row import Row, rows

# modules that are private since 0.24: pickles contain their names
_PRIVATE = {
    "cluster": "dbscan_ hierarchical=_agglomerative k_means_=_kmeans mean_shift_ spectral",
    "covariance": "empirical_covariance_ robust_covariance",
    "datasets": "base samples_generator",
    "decomposition": "base factor_analysis fastica_=_fastica incremental_pca kernel_pca nmf online_lda=_lda pca "
    "sparse_pca truncated_svd",
    "ensemble": "bagging base forest gradient_boosting=_gb iforest weight_boosting",
    "feature_selection": "base from_model rfe univariate_selection variance_threshold",
    "linear_model": "base bayes coordinate_descent huber least_angle logistic omp perceptron ransac ridge "
    "stochastic_gradient",
    "manifold": "isomap locally_linear mds spectral_embedding_ t_sne",
    "metrics": "base classification ranking regression scorer",
    "mixture": "base gaussian_mixture",
    "neighbors": "base classification kde lof nearest_centroid regression unsupervised",
    "neural_network": "multilayer_perceptron rbm",
    "preprocessing": "data imputation=.._sklearn label",
    "svm": "base classes",
    "tree": "tree=_classes export",
    "utils": "testing",
}


def _sklearn(removed: str, year: int, owner: str, names: dict[str, str | tuple[str, str]]) -> list[Row]:
    return rows("sklearn", removed, year, owner, names)


def _private_modules() -> list[Row]:
    found: dict[str, str | tuple[str, str]] = {}
    for package, names in _PRIVATE.items():
        for name in names.split():
            old, _, new = name.partition("=")
            place = f"sklearn.{package}"
            if new.startswith(".."):
                found[f"{place}.{old}"] = (new[1:], place)
            else:
                found[f"{place}.{old}"] = (f"{place}.{new or '_' + old.rstrip('_')}", place)
    return _sklearn("0.24", 2020, "", found)


_SELECTION = "sklearn.model_selection"

NAMES = [
    *_sklearn(
        "0.20",
        2018,
        "sklearn.decomposition",
        {"RandomizedPCA": ("._sklearn.RandomizedPCA", "PCA(svd_solver='randomized')")},
    ),
    *_sklearn(
        "0.22", 2019, "sklearn.preprocessing", {"Imputer": ("._sklearn.Imputer", "sklearn.impute.SimpleImputer")}
    ),
    *_sklearn(
        "0.22",
        2019,
        "sklearn.datasets",
        {"fetch_mldata": ("._sklearn.fetch_mldata", "sklearn.datasets.fetch_openml")},
    ),
    *_sklearn(
        "0.23",
        2020,
        "sklearn.metrics",
        {"jaccard_similarity_score": ("._sklearn.jaccard_similarity_score", "sklearn.metrics.jaccard_score")},
    ),
    *_sklearn("0.21", 2019, "sklearn.utils.extmath", {"fast_dot": "numpy.dot"}),
    *_sklearn("0.24", 2020, "sklearn.utils", {"safe_indexing": ("._sklearn.safe_indexing", "array[indices]")}),
    *rows(
        "pandas",
        "0.23",
        2018,
        "pandas",
        {
            f"rolling_{name}": (f"._pandas.rolling_{name}", f"Series.rolling(window).{name}()")
            for name in "mean median std var sum min max".split()
        },
    ),
    *rows("pandas", "0.25", 2019, "pandas", {"scatter_matrix": "pandas.plotting.scatter_matrix"}),
    *rows(
        "pandas",
        "1.0",
        2020,
        "pandas.DataFrame",
        {
            "as_matrix": ("._pandas.as_matrix", "DataFrame.to_numpy"),
            "from_csv": ("._pandas.from_csv", "pandas.read_csv(path, index_col=0)"),
            "get_value": ("._pandas.get_value", "DataFrame.at"),
            "ix": ("._pandas.ix", "DataFrame.loc and DataFrame.iloc"),
            "sort": ("._pandas.sort", "DataFrame.sort_values"),
        },
    ),
    *rows(
        "pandas",
        "1.0",
        2020,
        "pandas.Series",
        {
            "as_matrix": ("pandas.Series.to_numpy", "Series.to_numpy"),
            "ix": ("._pandas.ix", "Series.loc and Series.iloc"),
            "order": ("._pandas.order", "Series.sort_values"),
        },
    ),
    *rows(
        "pandas",
        "2.0",
        2023,
        "pandas.DataFrame",
        {"append": ("._pandas.append", "pandas.concat"), "iteritems": "pandas.DataFrame.items"},
    ),
    *rows(
        "pandas",
        "2.0",
        2023,
        "pandas.Series",
        {"append": ("._pandas.append_series", "pandas.concat"), "iteritems": "pandas.Series.items"},
    ),
    *rows("pandas", "3.0", 2026, "pandas.DataFrame", {"applymap": "pandas.DataFrame.map"}),
    *rows("h5py", "3.0", 2020, "h5py._hl.dataset.Dataset", {"value": ("._others.dataset_value", "dataset[()]")}),
]

GONE = [
    *_sklearn("0.19", 2017, "", {"sklearn.lda": ("._sklearn_lda", "sklearn.discriminant_analysis")}),
    *_sklearn("0.19", 2017, "", {"sklearn.qda": ("._sklearn_lda", "sklearn.discriminant_analysis")}),
    *_sklearn(
        "0.20",
        2018,
        "",
        {
            "sklearn.cross_validation": ("._cross_validation", _SELECTION),
            "sklearn.grid_search": ("._grid_search", _SELECTION),
            "sklearn.learning_curve": (_SELECTION, _SELECTION),
        },
    ),
    *_sklearn(
        "0.23",
        2020,
        "",
        {
            "sklearn.externals.joblib": "joblib",
            "sklearn.externals.six": ("._six", "six"),
            "sklearn.externals.six.moves": ("._six_moves", "six.moves"),
            "sklearn.utils.linear_assignment_": ("._linear_assignment", "scipy.optimize.linear_sum_assignment"),
        },
    ),
    *_private_modules(),
    *rows("librosa", "0.8", 2020, "", {"librosa.output": ("._others", "soundfile.write")}),
    *rows("moviepy", "2.0", 2024, "", {"moviepy.editor": "moviepy"}),
    *rows("pkg_resources", "82", 2026, "", {"pkg_resources": ("._pkg_resources", "importlib.metadata")}),
]
# Chainer needed six, so that its programs could rely on it

_SIX = ("._six", "Python's own names")
_MOVES = {
    "builtins": "builtins",
    "cPickle": "pickle",
    "configparser": "configparser",
    "copyreg": "copyreg",
    "http_client": "http.client",
    "html_parser": "html.parser",
    "queue": "queue",
    "socketserver": "socketserver",
    "tkinter": "tkinter",
    "urllib": "urllib",
    "urllib.error": "urllib.error",
    "urllib.parse": "urllib.parse",
    "urllib.request": "urllib.request",
    "urllib_parse": "urllib.parse",
}
GONE += rows("six", "", 0, "", {"six": _SIX, "six.moves": ("._six_moves", "Python's own names")})
GONE += rows("six", "", 0, "six.moves", dict(_MOVES))
