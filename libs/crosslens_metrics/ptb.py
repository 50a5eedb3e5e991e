"""Penn Treebank tokens by Stanford CoreNLP 3.4.1, called as the public COCO caption tool calls it. Needs Java."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crosslens_metrics.java import JavaDialogue, ToolFailedError, jar

VERSION = "3.4.1"
JAR_VARIABLE = "PTB_JAR"
INSIDE_PACKAGE = "tokenizer/stanford-corenlp-3.4.1.jar"
DROPPED = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
"""What the public tool leaves out. It compares after lower-casing, so that brackets, now -lrb- and -rrb-, stay in."""
LINE_ENDS = re.compile("[\n\r\v\f\x85\u2028\u2029]")
"""Where the tokeniser would begin a new line, and so mistake one caption for two."""


def ptb_tokens(texts: Sequence[str]) -> list[str]:
    """Lower-cased Penn Treebank tokens without punctuation, for texts in English.

    Parameters
    ----------
    texts : sequence of str, length n

    Returns
    -------
    list of str, length n
        Tokens joined by single spaces; empty where nothing is left. Characters outside Unicode's first plane, such as
        most emoji, are dropped by the tokeniser.

    Raises
    ------
    crosslens_metrics.java.ToolMissingError
        If Java or the archive is not there.
    crosslens_metrics.java.ToolFailedError

    References
    ----------
    X. Chen et al. (2015), Microsoft COCO Captions: Data Collection and Evaluation Server, section 3.
    """
    if not texts:
        return []
    archive = jar(JAR_VARIABLE, INSIDE_PACKAGE, "stanford-corenlp-3.4.1.jar (the PTB tokeniser)")
    arguments = ["-cp", str(archive), "edu.stanford.nlp.process.PTBTokenizer"]
    arguments += ["-encoding", "UTF-8", "-preserveLines", "-lowerCase"]
    with JavaDialogue(arguments, folder=archive.parent) as tokeniser:
        tokeniser.send(_lines(texts), is_last=True)
        tokenised = [_kept(tokeniser.answer()) for _text in texts]
        if not tokeniser.is_at_end():
            raise ToolFailedError(f"The PTB tokeniser gave more lines than the {len(texts)} texts it was sent.")
    return tokenised


def _lines(texts: Sequence[str]) -> Iterator[str]:
    return (LINE_ENDS.sub(" ", text) for text in texts)


def _kept(line: str) -> str:
    return " ".join(token for token in line.split(" ") if token and token not in DROPPED)
