"""`sklearn.lda` and `sklearn.qda`."""

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA  # noqa: F401
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as QDA  # noqa: F401
