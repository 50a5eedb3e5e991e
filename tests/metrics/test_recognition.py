"""What files of other tools are recognised as, and what is said of those that hold nothing to import."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosslens_metrics.formats.any_table import table_records
from crosslens_metrics.formats.caption_rows import CaptionRow, given_texts
from crosslens_metrics.formats.layouts import layout_of
from crosslens_metrics.formats.problems import LeftOutError, LineError
from crosslens_metrics.formats.recognised_files import RecognisedFile, RecognisedFiles
from crosslens_metrics.formats.recognition import captions_of, recognise

TWO = ["A red hill.", "A hill under a blue sky."]
COCO = {
    "images": [{"id": 1, "file_name": "b1.jpg"}, {"id": 2, "file_name": "b2.jpg"}],
    "annotations": [{"id": 7, "image_id": 1, "caption": TWO[0]}, {"id": 8, "image_id": 1, "caption": TWO[1]}],
}
TASK = {
    "data": {"image": "/data/upload/1/0a1b2c3d-b1.jpg"},
    "annotations": [{"result": [{"type": "textarea", "value": {"text": [TWO[0]]}}]}],
    "predictions": [{"model_version": "m", "result": [{"type": "textarea", "value": {"text": [TWO[1]]}}]}],
}
BOXES = {**TASK, "annotations": [{"result": [{"type": "rectanglelabels", "value": {}}]}], "predictions": []}
POTATO = {"id": "b1", "displayed_text": "<img src='img/b1.jpg'>", "label_annotations": {"c": {"text_box": TWO[0]}}}
SHOWN = {"src": "<img src='https://e.org/b1.jpg'>", "tgt": {"A": "x", "B": "y"}}
PEARMUT: dict[str, Any] = {"annotation": [], "user_id": "u", "item": [SHOWN]}
HUGGING_FACE = "Hugging Face metadata"


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def only(path: Path, **options: Any) -> RecognisedFile:
    [file] = recognise([path], **options).files
    return file


def matched(seen: RecognisedFiles, file: RecognisedFile) -> int:
    """How many of the images that a file names came with the files."""
    return sum(seen.images.first(*names) is not None for names in file.images)


@pytest.mark.parametrize(
    ("name", "text", "layout", "kind", "languages"),
    [
        ("c.json", json.dumps(COCO), "COCO captions", "references", {"und": 2}),
        ("c.json", json.dumps(COCO, indent=1), "COCO captions", "references", {"und": 2}),
        ("r.json", '[{"image_id": 1, "caption": "x"}]', "COCO results", "model captions", {"und": 1}),
        ("a.json", json.dumps({"b1": TWO, "b2": "x"}), "captions by image", "references", {"und": 3}),
        ("a.json", json.dumps({"b1": {"en": TWO, "de": ["x"]}}), "captions by image", "references", {"en": 2, "de": 1}),
        ("f.csv", "image_name| comment_number| comment\nb1.jpg| 0| x\n", "Flickr30k", "references", {"und": 1}),
        ("f.token", "b1.jpg#0\tx\nb1.jpg#1\ty\n", "Flickr30k", "references", {"und": 2}),
        (
            "f.csv",
            'raw,filename,img_id\n"[""x"", ""y""]",b1.jpg,0\n',
            "Flickr30k (Hugging Face)",
            "references",
            {"und": 2},
        ),
        ("m.csv", "file_name,text\nb1.jpg,x\n", f"{HUGGING_FACE} (CSV)", "captions", {"und": 1}),
        (
            "m.jsonl",
            lines({"file_name": "b1.jpg", "text": TWO}),
            f"{HUGGING_FACE} (JSON Lines)",
            "references",
            {"und": 2},
        ),
        ("x.jsonl", lines({"image/key": "a", "de": {"caption": TWO}}), "Crossmodal-3600", "references", {"de": 2}),
        ("t.csv", "sep=;\r\nImage;Caption;Language\r\nb1;x, y;pt_br\r\n", "CSV", "captions", {"pt-BR": 1}),
        ("t.csv", "sep=\t\r\nImage\tCaption\tLanguage\r\nb1\tx, y\tde\r\n", "CSV", "captions", {"de": 1}),
        ("t.csv", "\tsep=;\t\r\nImage;Caption;Language\r\nb1;x, y;de\r\n", "CSV", "captions", {"de": 1}),
        ("w.csv", "image,en,de,id\nb1,x,y,3\n", "CSV", "captions", {"en": 1, "de": 1}),
        ("w.tsv", "image\tcaption_en\tcaption (de)\nb1\tx\ty\n", "CSV", "captions", {"en": 1, "de": 1}),
        (
            "blip.de.jsonl",
            lines({"image": "b1", "caption": "x", "model": "b"}),
            "JSON Lines",
            "model captions",
            {"de": 1},
        ),
        ("l.json", json.dumps([{**TASK, "annotations": []}]), "Label Studio", "model captions", {"und": 1}),
        (
            "l.csv",
            "annotation_id,lead_time,image,caption\n1,2,/data/upload/1/0a1b2c3d-b1.jpg,x\n",
            "Label Studio",
            "captions",
            {"und": 1},
        ),
        ("d.jsonl", lines({"id": 1, "filename": "b1.jpg", "label": ["x"]}), "doccano", "captions", {"und": 1}),
        ("p.jsonl", lines(POTATO), "Potato", "captions", {"und": 1}),
        ("p.csv", "user,instance_id,c:::text_box\nann,b1,x\n", "Potato", "captions", {"und": 1}),
        ("p.jsonl", lines(PEARMUT), "Pearmut", "model captions", {"und": 2}),
        ("j.csv", "image,rater,score\nb1,ann,1\n", "CSV", "judgements", {}),
        ("g.jsonl", lines({"sentence": "A ___.", "word": "x", "images": ["b1"]}), "Gap items", "gap items", {}),
        ("manifest.csv", "file,licence\nb1.jpg,CC0\n", "manifest of images", "images", {}),
    ],
)
def test_file_is_recognised_by_what_is_in_it(
    tmp_path: Path, name: str, text: str, layout: str, kind: str, languages: dict[str, int]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    file = only(tmp_path / name)
    assert (file.layout, file.kind, dict(file.languages)) == (layout, kind, languages)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps([BOXES]), "This is a Label Studio export of bounding boxes."),
        (json.dumps([{"data": {"image": "b1"}, "annotations": []}]), "tasks of Label Studio that nobody has annotated"),
        (lines({"filename": "b1.jpg", "bbox": []}), "This is a doccano export of bounding boxes."),
        (lines({"text": "x", "label": [[0, 1, "PER"]]}), "This is a doccano export of labelled texts."),
        (lines({**POTATO, "label_annotations": {"s": {"good": "true"}}}), "This is a Potato export of choices"),
        (lines({**PEARMUT, "item": [{"src": "x", "tgt": {"A": "y"}}]}), "This is a Pearmut export of scores"),
        (json.dumps({"info": {}, "campaign_id": "c", "data": [[]]}), "This is a campaign of Pearmut"),
        (
            json.dumps({**COCO, "annotations": [{"image_id": 1, "category_id": 2, "bbox": [1]}]}),
            "This is a COCO file of bounding boxes",
        ),
        (json.dumps([{"image_id": 1, "category_id": 2, "bbox": [1]}]), "This is a COCO file of bounding boxes"),
        (json.dumps({"images": COCO["images"]}), "This is a COCO list of images without captions."),
        ("foto,text_de\nb1,x\n", "It has “foto”, “text_de”. Call the column"),
        (json.dumps({"corpus": {}, "n": 3}), "one JSON object with “corpus”, “n”, which is not known."),
        ("[1, 2]", "has to be an object"),
        ("", "The file is empty."),
        ("A hill, red.\nTwo dogs.\n", "2 sentences without names of images."),
    ],
)
def test_file_without_captions_is_refused_by_its_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    file = only(tmp_path / "file")
    assert file.kind == "unknown"
    assert says in next(iter(file.problems))


def rows_of(content: bytes, **options: Any) -> list[CaptionRow]:
    rows = list(captions_of(io.BytesIO(content), **options))
    assert all(isinstance(row, CaptionRow) for row in rows)
    return [row for row in rows if isinstance(row, CaptionRow)]


LIST_INSIDE = '{"data": [{"image": "b1", "caption": "x"}, {"image": "b2", "caption": ["y", "z"]}]}'
TEMPLATE = 'annotation_id,lead_time,captioning,caption\n1,2,/data/b1.jpg,"{""text"": [""x"", ""y""]}"\n'


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        (LIST_INSIDE, {"b1": ["x"], "b2": ["y", "z"]}),
        ('{\n"image": "b1",\n"caption": "x"\n}', {"b1": ["x"]}),
        (TEMPLATE, {"b1.jpg": ["x", "y"]}),
    ],
)
def test_captions_that_lie_deeper(text: str, captions: dict[str, list[str]]) -> None:
    assert {row.name: given_texts(row.captions[0].value) for row in rows_of(text.encode())} == captions


@pytest.mark.parametrize("inner", ['{"captions": ["x"], "split": "test"}', '{"caption": "x", "model": "m"}'])
def test_what_is_no_language_is_not_taken_for_one(tmp_path: Path, inner: str) -> None:
    (tmp_path / "file").write_text(f'{{"b1": {inner}}}')
    assert only(tmp_path / "file").kind == "unknown"


def test_names_and_captions_of_entries() -> None:
    [task] = rows_of(json.dumps([TASK]).encode())
    assert task.names == ("b1.jpg", "0a1b2c3d-b1.jpg")
    assert [(given.value, given.model) for given in task.captions] == [([TWO[0]], ""), ([TWO[1]], "m")]
    first, second = rows_of(json.dumps(COCO).encode())
    assert first.names == ("b1.jpg", "1")
    assert [row.captions[0].value for row in (first, second)] == TWO
    two = {**PEARMUT, "item": [SHOWN, SHOWN]}
    assert [row.number for row in rows_of(lines(two, PEARMUT).encode())] == [1, 2, 3]


@pytest.mark.parametrize("noted", [None, {"text": ["fine"]}, {"language": 1}])
def test_results_of_label_studio_say_their_language(noted: Any) -> None:
    given = [("x", {"language": "ar", "author": "ann"}), ("y", {"language": "fr"}), ("z", noted), ("w", noted)]
    results = [{"type": "textarea", "value": {"text": [text]}, "meta": meta} for text, meta in given]
    for data, otherwise in (({"image": "b1"}, None), ({"image": "b1", "language": "sw"}, "sw")):
        task = {"data": data, "annotations": [{"result": results}]}
        [row] = rows_of(json.dumps([task]).encode())
        assert [(one.value, one.language) for one in row.captions] == [
            (["x"], "ar"),
            (["y"], "fr"),
            (["z", "w"], otherwise),
        ]


def test_columns_that_somebody_named() -> None:
    table = "foto;beschreibung;wer\nb1;Ein Hügel;m\n".encode()
    [row] = rows_of(table, said={"image": "Foto", "caption": "beschreibung", "model": "wer"})
    assert (row.names, row.captions[0].value, row.captions[0].model) == (("b1",), "Ein Hügel", "m")


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda text: text.decode().encode("utf-16"), lambda text: b"\xef\xbb\xbf" + text]
)
def test_packing_and_encoding_do_not_matter(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "c.de").write_bytes(pack("Image\tCaption\r\nb1.jpg\tEin Hügel\r\n".encode()))
    assert only(tmp_path / "c.de").languages == {"de": 1}


def test_tables_of_other_programs(tmp_path: Path) -> None:
    import openpyxl
    import pyarrow
    from pyarrow import parquet

    book = openpyxl.Workbook()
    for row in (["Image", "Caption", "Lang"], [12, "x", "en"], [13.0, "y", "de"], [None, None, None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    file = only(tmp_path / "t.xlsx")
    assert (file.layout, file.languages, set(file.images)) == ("Excel", {"en": 1, "de": 1}, {("12",), ("13",)})

    images = [{"bytes": b"1", "path": "b1.jpg"}, {"bytes": b"2", "path": "b2.jpg"}]
    parquet.write_table(pyarrow.table({"image": images, "caption": [TWO, ["x"]]}), tmp_path / "t.parquet")
    file = only(tmp_path / "t.parquet", language="en")
    assert (file.layout, file.languages, set(file.images)) == ("Parquet", {"en": 3}, {("b1.jpg",), ("b2.jpg",)})
    ((reason, (count, _example)),) = file.problems.items()
    assert (reason.partition(".")[0], count) == ("The images inside the Parquet file are not imported", 2)

    judged = {"image": images, "rater": ["r", "r"], "score": [1, 2]}
    parquet.write_table(pyarrow.table(judged), tmp_path / "j.parquet")
    with (tmp_path / "j.parquet").open("rb") as opened:
        records = layout_of(opened).records
        assert records
        assert [record.number for record in (*records(opened), *table_records(opened))] == [1, 2, 1, 2]

    parquet.write_table(pyarrow.table({"image": images, "label": [0, 1]}), tmp_path / "l.parquet")
    assert "The images inside the Parquet file are not imported" in next(iter(only(tmp_path / "l.parquet").problems))

    names_only = [{"bytes": None, "path": image["path"]} for image in images]
    kind = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    columns = {"image": pyarrow.array(names_only, kind), "caption": [TWO, ["x"]]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "n.parquet")
    assert not only(tmp_path / "n.parquet", language="en").problems


def test_scores_beside_captions_are_named(tmp_path: Path) -> None:
    judged = {"A": {"score": 80, "error_spans": []}, "B": {"score": 0}}
    (tmp_path / "p.jsonl").write_text(lines({**PEARMUT, "annotation": [judged]}, PEARMUT))
    file = only(tmp_path / "p.jsonl", language="en")
    ((reason, problem),) = file.problems.items()
    assert (file.kind, reason.partition(".")[0]) == (
        "model captions",
        "Captions are imported, and their scores are not",
    )
    assert problem == (2, "line 3: b1.jpg")

    (tmp_path / "q.jsonl").write_text(f"{lines({**PEARMUT, 'annotation': [judged]})}{{oops\n{lines(PEARMUT)}{{again\n")
    with (tmp_path / "q.jsonl").open("rb") as opened:
        numbers = [(row.number, type(row)) for row in captions_of(opened)]
    read, broken = CaptionRow, LineError
    assert numbers == [(1, read), (2, broken), (3, read), (4, broken), (5, LeftOutError)]


SHARD = (
    *(("1.jpg", b""), ("1.txt", b"x"), ("1.json", b'{"caption": "x", "url": "u"}')),
    *(("2.jpg", b""), ("2.json", b'{"caption": "y"}'), ("._2.json", b"\0\5\x16\7")),
)


def test_problems_are_counted_by_kind_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"image": "b1", "caption": "x"}\n{oops\n{"image": "b3", "caption": ""}\n')
    file = only(tmp_path / "c.jsonl", language="en")
    assert file.languages == {"en": 1}
    assert [(count, example) for count, example in file.problems.values()] == [(1, "line 2"), (1, "line 3: b3")]


def workbook(sheet: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", sheet)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "members", "says"),
    [
        (
            "t.ods",
            {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": ""},
            "spreadsheet. Save",
        ),
        ("t.odt", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ""}, "This is a text or a"),
        ("t.docx", {"[Content_Types].xml": "<a/>", "word/document.xml": ""}, "This is a text or a"),
        ("t.pptx", {"[Content_Types].xml": "<a/>", "ppt/presentation.xml": ""}, "This is a text or a"),
    ],
)
def test_documents_of_office_programs_are_refused_by_what_they_are(
    tmp_path: Path, name: str, members: dict[str, str], says: str
) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    (problem,) = only(tmp_path / name).problems
    assert says in problem
    assert "Excel (.xlsx) or CSV" in problem


BROKEN = (
    workbook("<a"),
    workbook(""),
    gzip.compress(b"x" * 99)[:20],
    b"PK\x03\x04broken",
    b"PAR1broken",
    '{"a'.encode("utf-16"),
)


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_broken_file_is_refused(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "file").write_bytes(broken)
    assert only(tmp_path / "file").kind == "unknown"


def test_a_shard_that_was_cut_off_in_a_header_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "0.tar", "w") as archive:
        for name in ("b1.txt", "b2.txt"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"x y"))
    whole = (tmp_path / "0.tar").read_bytes()
    (tmp_path / "1.tar").write_bytes(whole[:1100])
    assert only(tmp_path / "0.tar").captions == 2
    assert "incomplete" in next(iter(only(tmp_path / "1.tar").problems))


def test_sheets_of_a_workbook_that_are_not_read_are_named(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("image", "en"), ("b1", "x")):
        book.active.append(row)
    book.create_sheet("more")
    book.save(tmp_path / "b.xlsx")
    file = only(tmp_path / "b.xlsx")
    assert (file.captions, ["Of 2 sheets only" in problem for problem in file.problems]) == (1, [True])
    packed = tmp_path / "b.xlsx.gz"
    packed.write_bytes(gzip.compress((tmp_path / "b.xlsx").read_bytes()))
    assert only(packed).captions == 1


def test_a_column_called_id_is_indonesian_beside_other_languages(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("image,en,id\nb1,A hill,Sebuah bukit\n")
    (tmp_path / "b.csv").write_text("image,en,id\nb1,A hill,7\n")
    assert [dict(only(tmp_path / name).languages) for name in ("a.csv", "b.csv")] == [{"en": 1, "id": 1}, {"en": 1}]


def test_one_bad_text_of_a_list_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.de.jsonl").write_text(lines({"image": "b1", "captions": ["a", "", "b"]}))
    file = only(tmp_path / "a.de.jsonl")
    assert (file.captions, file.problems) == (2, {"The caption is empty.": (1, "line 1: b1")})


@pytest.mark.parametrize(
    ("name", "text", "layout", "images"),
    [
        ("cc.tsv", "a hill\thttps://e.org/p/b1.jpg?w=2\nit\thttps://e.org/b2.jpg\n", "Conceptual Captions", 2),
        ("t.csv", "url,caption\nhttps://e.org/p/b1.jpg,x\n", "CSV", 1),
        ("t.json", json.dumps({"data": [{"image_id": "b1", "caption_str": "x", "reference_strs": TWO}]}), "JSON", 1),
    ],
)
def test_captions_of_images_by_address(tmp_path: Path, name: str, text: str, layout: str, images: int) -> None:
    (tmp_path / name).write_text(text)
    for image in ("b1.jpg", "b2.jpg"):
        (tmp_path / image).write_bytes(b"")
    seen = recognise([tmp_path / name, tmp_path / "b1.jpg", tmp_path / "b2.jpg"])
    assert (seen.files[0].layout, matched(seen, seen.files[0])) == (layout, images)


def test_settings_are_not_taken_for_captions(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"name": "resnet", "version": "1.0", "licence": "MIT"}))
    assert "is not known" in next(iter(only(tmp_path / "config.json").problems))
