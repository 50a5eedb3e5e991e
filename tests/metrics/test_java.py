"""Talking to a program: no deadlock, no waiting for ever, nothing left running, and messages that say what to do."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

from crosslens_metrics import meteor, ptb
from crosslens_metrics.java import JavaDialogue, ToolFailedError, ToolMissingError, jar, java
from tests.commands import make_program

ECHO = "for line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a few lines of Python in the place of Java."""

    def put(code: str) -> Path:
        program = make_program(tmp_path / "java", f"import os, sys, time\n{code}")
        monkeypatch.setenv("JAVA", str(program))
        return tmp_path

    return put


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_far_more_than_a_pipe_holds_is_sent_before_anything_is_read(pretend):
    folder = pretend(ECHO)
    lines = [f"{number} {'x' * 1000}" for number in range(2000)]

    with JavaDialogue([], folder=folder) as program:
        program.send(lines)
        time.sleep(0.1)
        answers = [program.answer() for _line in lines]

    assert answers == lines


def test_a_program_that_answers_before_it_reads_all_does_not_block(pretend):
    folder = pretend(
        "print('y' * 10**6, flush=True); sys.stderr.write('z' * 10**6); data = sys.stdin.read(); print(len(data))"
    )

    with JavaDialogue([], folder=folder) as program:
        program.send(["x" * 1000] * 1000, is_last=True)
        assert len(program.answer()) == 10**6
        assert program.answer() == "1001000"
        assert program.is_at_end()


def test_what_is_sent_is_utf_8_and_numbers_are_english_whatever_the_computer_is_set_to(pretend, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    folder = pretend("print(' '.join(sys.argv[1:]), flush=True); " + "exec(" + repr(ECHO) + ")")

    with JavaDialogue(["-last"], folder=folder) as program:
        arguments = program.answer().split()
        program.send(["狗在跑 été \ud800"])
        assert program.answer() == "狗在跑 été ?"

    assert {"-Dfile.encoding=UTF-8", "-Duser.language=en"} <= set(arguments)
    assert arguments[-1] == "-last"


def test_a_program_that_dies_is_told_with_its_last_words(pretend):
    folder = pretend("print('first', flush=True); sys.exit('no such language')")

    with JavaDialogue([], folder=folder) as program:
        program.send(["x" * 1000] * 1000)
        assert program.answer() == "first"
        with pytest.raises(ToolFailedError, match=r"\(code 1\): no such language"):
            program.answer()


def test_half_a_line_is_no_answer(pretend):
    folder = pretend("sys.stdout.write('0.12')")

    with JavaDialogue([], folder=folder) as program, pytest.raises(ToolFailedError, match="did not say why"):
        program.answer()


def test_a_program_that_says_nothing_is_given_up(pretend):
    folder = pretend("time.sleep(60)")

    with (
        JavaDialogue([], folder=folder, patience_s=0.3) as program,
        pytest.raises(ToolFailedError, match="said nothing for 0 s"),
    ):
        program.answer()


def test_no_program_is_left_behind_when_its_user_fails(pretend):
    folder = pretend("print(os.getpid(), flush=True); time.sleep(60)")

    pid = 0
    with contextlib.suppress(KeyError), JavaDialogue([], folder=folder) as program:
        program.send(["x" * 1000] * 1000)
        pid = int(program.answer())
        assert is_running(pid)
        raise KeyError

    assert pid
    assert not is_running(pid)


def test_without_java_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("JAVA", "no-such-java")

    with pytest.raises(ToolMissingError, match=r"there is no no-such-java .* default-jre-headless"):
        java()
    with pytest.raises(ToolMissingError):
        JavaDialogue([], folder=Path("/"))


def test_something_that_is_no_program_is_told(tmp_path, monkeypatch):
    broken = tmp_path / "java"
    broken.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("JAVA", str(broken))

    with pytest.raises(ToolFailedError, match="cannot be started"):
        JavaDialogue([], folder=tmp_path)


@pytest.mark.parametrize("tool", [meteor, ptb])
def test_without_the_package_the_message_says_how_to_get_it(monkeypatch, tool):
    monkeypatch.delenv(tool.JAR_VARIABLE, raising=False)
    monkeypatch.setattr("crosslens_metrics.java.PACKAGE", "no_such_package")

    with pytest.raises(ToolMissingError, match=rf"pip install pycocoevalcap.*{tool.JAR_VARIABLE}"):
        jar(tool.JAR_VARIABLE, tool.INSIDE_PACKAGE, "archive")


def test_an_archive_can_be_named_and_must_be_there(tmp_path, monkeypatch):
    monkeypatch.setenv("METEOR_JAR", str(tmp_path / "meteor-1.5.jar"))
    with pytest.raises(ToolMissingError, match=r"METEOR_JAR names .* which is no file"):
        jar("METEOR_JAR", "", "meteor-1.5.jar")

    (tmp_path / "meteor-1.5.jar").touch()
    assert jar("METEOR_JAR", "", "meteor-1.5.jar") == (tmp_path / "meteor-1.5.jar").resolve()


def test_finding_the_archives_imports_nothing_of_their_package():
    for tool in (meteor, ptb):
        try:
            jar(tool.JAR_VARIABLE, tool.INSIDE_PACKAGE, "archive")
        except ToolMissingError:
            continue
    assert not [name for name in sys.modules if name.startswith("pycocoevalcap.meteor")]


# METEOR against a pretended program, which answers as METEOR does.
ANSWERS = """
for line in sys.stdin:
    parts = line.rstrip("\\n").split(" ||| ")
    if parts[0] == "SCORE":
        print(len(parts) - 2, len(parts[-1].split()), *[0] * 21, flush=True)
    else:
        for part in parts[1:]:
            print("%s", flush=True)
        print(len(parts) - 1, flush=True)
"""


def in_place_of_meteor(pretend, monkeypatch, figure: str) -> Path:
    folder = pretend(ANSWERS.replace("%s", figure))
    (folder / "meteor-1.5.jar").touch()
    (folder / "data").mkdir()
    (folder / "data" / "paraphrase-en.gz").touch()
    monkeypatch.setenv("METEOR_JAR", str(folder / "meteor-1.5.jar"))
    return folder


def test_meteor_is_asked_image_by_image_and_then_for_all(pretend, monkeypatch):
    in_place_of_meteor(pretend, monkeypatch, "0.25")

    scores = meteor.meteor(["a\nb", "", "a ||| b"], [["c", "d|||e"], ["\r\n"], ["f"]])

    assert scores.per_image.tolist() == [0.25, 0.25, 0.25]
    assert scores.corpus == 3


@pytest.mark.parametrize("figure", ["NaN", "0,25", "Exception"])
def test_what_is_no_number_is_never_a_score(pretend, monkeypatch, figure):
    in_place_of_meteor(pretend, monkeypatch, figure)

    with pytest.raises(ToolFailedError, match="where a number should be"):
        meteor.meteor(["a"], [["a"]])


def test_a_language_without_its_table_of_paraphrases_is_told(pretend, monkeypatch):
    in_place_of_meteor(pretend, monkeypatch, "0.25")

    with pytest.raises(ToolMissingError, match=r"paraphrase-cz\.gz.*meteor-1\.5\.tar\.gz"):
        meteor.meteor(["a"], [["a"]], language="cs")
    assert meteor.meteor(["a"], [["a"]], language="pt-BR").corpus == 1


@pytest.mark.parametrize("language", ["zh", "sw", "quz", "other", "cz", ""])
def test_languages_that_meteor_does_not_know_are_refused(language):
    with pytest.raises(meteor.UnknownLanguageError, match=r"METEOR 1\.5 knows cs, da, de, en"):
        meteor.meteor(["a"], [["a"]], language=language)


def test_captions_that_cannot_be_scored_are_refused_before_java_is_started(monkeypatch):
    monkeypatch.setenv("JAVA", "no-such-java")

    with pytest.raises(ValueError, match="a single text"):
        meteor.meteor(["a"], ["a"])


def test_a_tokeniser_that_gives_other_lines_than_it_was_sent_is_noticed(pretend, monkeypatch):
    folder = pretend("data = sys.stdin.read(); print(data, end='' ); print('more')")
    (folder / "archive.jar").touch()
    monkeypatch.setenv("PTB_JAR", str(folder / "archive.jar"))

    with pytest.raises(ToolFailedError, match="more lines than the 2 texts"):
        ptb.ptb_tokens(["a", "b\u2028c"])
    assert ptb.ptb_tokens([]) == []
