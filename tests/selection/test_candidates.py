"""Candidates: addresses with coordinates, read line by line; what is wrong is named and counted."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from core.images.models import ImportJob, ImportKind
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import AuditEntry, Project, User
from crosslens_metrics.formats import limits
from office.imports.selectors import parts_of
from research.selection.models import Candidate, CandidateList, Selection
from research.selection.rules.candidates import CandidateFault, checksum_of, is_address, is_private, licence_of
from research.selection.selectors.pools import summary_of
from research.selection.services import candidates as services
from research.selection.services.candidates import CandidatesRefusedError, delete_list
from tests.clients import client_of
from tests.factories import NOW, make_project, make_user
from tests.imports.sent import confirmed
from tests.imports.sent import run as continued

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

HEADER = "key,address,latitude,longitude,licence,author,title,checksum,bytes"
OPEN_IMAGES = (
    "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,OriginalSize,OriginalMD5,"
    "Thumbnail300KURL,Rotation,Latitude,Longitude"
)
MD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
HYDERABAD = "17.4,78.5"


def line(
    key: str, *, address: str | None = None, at: str = HYDERABAD, licence: str = "CC BY 4.0", checksum: str = ""
) -> str:
    return f"{key},{address if address is not None else f'https://x.org/{key}.jpg'},{at},{licence},Ann,T,{checksum},10"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "world.csv"
    path.write_text("\n".join([HEADER, line("a"), line("b", at="48.85,2.35")]))
    return path


@pytest.fixture
def project() -> Project:
    return make_project(manager=make_user("mia"))


def run(path: Path, project: Project, **options: object) -> ImportJob:
    about: dict[str, object] = {"name": "World", "clock": lambda: NOW, **options}
    return services.import_path(path=path, project=project, **about)  # type: ignore[arg-type]


def left_out(project: Project) -> dict[str, int]:
    return dict(CandidateList.objects.get(project=project).counts["left_out"])


def test_a_key_in_another_form_of_unicode_is_the_same_and_excels_first_line_is_read_over(tmp_path, project):
    path = tmp_path / "world.csv"
    rows = [HEADER, line("é"), line("e\u0301", address="https://x.org/other.jpg")]
    path.write_text("\n".join(["sep=;", *(row.replace(",", ";") for row in rows)]), encoding="utf-8")
    run(path, project)
    assert left_out(project) == {"key_twice": 1}
    assert Candidate.objects.get().key == "é"


def test_candidates_are_stored_with_their_places(file, project):
    job = run(file, project)

    assert (job.state, job.error, job.done) == (JobState.DONE, "", 2)
    first = Candidate.objects.get(key="a")
    assert (first.countries, first.regions, first.continent) == ("IN", "IN-TG", "AS")
    assert (first.address, first.author, first.bytes) == ("https://x.org/a.jpg", "Ann", 10)
    [candidates] = CandidateList.objects.all()
    assert candidates.counts["countries"] == {"IN": 1, "FR": 1}
    assert summary_of(candidates).is_complete


def test_the_layout_of_open_images_is_read_packed_or_not(tmp_path, project):
    url = "https://creativecommons.org/licenses/by/2.0/"
    row = f"0a1,train,https://x.org/1.jpg,https://x.org/1,{url},https://x.org/ann,Ann,Title,100,{MD5},,0.0,{HYDERABAD}"
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(f"{OPEN_IMAGES}\n{row}\n".encode()))

    run(path, project)

    [candidate] = Candidate.objects.all()
    assert (candidate.key, candidate.licence, candidate.licence_url) == ("0a1", "CC BY 2.0", url)
    assert candidate.checksum == "md5:d41d8cd98f00b204e9800998ecf8427e"


def test_semicolons_part_cells_too(tmp_path, project):
    path = tmp_path / "world.csv"
    path.write_text(f"{HEADER}\n{line('a')}\n".replace(",", ";"))
    run(path, project)
    assert Candidate.objects.get().address == "https://x.org/a.jpg"


def test_each_fault_is_named_by_line_and_counted(tmp_path, project):
    faulty = {
        line("1", at=","): CandidateFault.COORDINATES_MISSING,
        line("2", at="north,2"): CandidateFault.COORDINATES_NOT_NUMBERS,
        line("3", at="95,200"): CandidateFault.COORDINATES_OUT_OF_RANGE,
        line("4", at="120,30"): CandidateFault.COORDINATES_SWAPPED,
        line("5", at="0,0"): CandidateFault.COORDINATES_ZERO,
        line("", address="https://x.org/6"): CandidateFault.NO_KEY,
        line("7", address=""): CandidateFault.NO_ADDRESS,
        line("8", address="../up.jpg"): CandidateFault.BAD_ADDRESS,
        line("8b", address="http://192.168.0.1/8.jpg"): CandidateFault.PRIVATE_ADDRESS,
        line("9", licence=""): CandidateFault.NO_LICENCE,
        line("10", checksum="beef"): CandidateFault.BAD_CHECKSUM,
        line("k" * 201): CandidateFault.TOO_LONG,
        line("good", address="https://x.org/other.jpg"): CandidateFault.KEY_TWICE,
        line("11", address="https://x.org/good.jpg"): CandidateFault.IMAGE_TWICE,
        line("12", checksum=MD5): CandidateFault.IMAGE_TWICE,
        line("13", address="http://X.ORG/good.jpg#top"): CandidateFault.IMAGE_TWICE,
        line("1\v4", address="https://x.org/14"): CandidateFault.UNREADABLE,
        '"15" here,https://x.org/15.jpg,1,2,CC BY': CandidateFault.UNREADABLE,
        "x" * 200_000: CandidateFault.UNREADABLE,
        line("16") + ",a title, with a comma": CandidateFault.UNREADABLE,
    }
    path = tmp_path / "world.csv"
    path.write_text("\n".join([HEADER, line("good", checksum="md5:" + MD5), *faulty]))

    job = run(path, project)

    assert list(Candidate.objects.values_list("key", flat=True)) == ["good"]
    assert sum(left_out(project).values()) == len(faulty) == job.rows.count()
    assert left_out(project) == {str(fault): list(faulty.values()).count(fault) for fault in faulty.values()}
    assert list(job.rows.values_list("number", flat=True)) == list(range(2, len(faulty) + 2))
    reasons = job.rows.order_by("-number").values_list("reason", flat=True)[:2]
    assert [reason.split(".")[0] for reason in reasons] == [
        "11 cells, but the first line names 9",
        "The row has more than 100000 characters",
    ]


@pytest.mark.parametrize("form", ["xlsx", "jsonl", "utf-16"])
def test_candidates_come_in_any_form_of_table(tmp_path, project, form):
    names, cells = HEADER.split(","), line("a").split(",")
    path = tmp_path / f"world.{form}"
    if form == "xlsx":
        book = openpyxl.Workbook()
        book.active.append(names)
        book.active.append([*cells[:2], 17.4, 78.5, *cells[4:-1], 10])
        book.save(path)
    elif form == "jsonl":
        path.write_text(json.dumps(dict(zip(names, cells, strict=True)) | {"latitude": 17.4, "bytes": 10}))
    else:
        path.write_bytes(f"{HEADER}\n{line('a')}\n".encode("utf-16"))
    run(path, project)
    candidate = Candidate.objects.get()
    assert (candidate.latitude, candidate.bytes, candidate.countries) == (17.4, 10, "IN")


def test_each_object_of_json_has_columns_of_its_own(tmp_path, project):
    whole = dict(zip(HEADER.split(","), line("a").split(","), strict=True)) | {"latitude": 17.4, "longitude": 78.5}
    without = {name: {key: of for key, of in whole.items() if key != name} for name in ("licence", "latitude")}
    other = without["licence"] | {"key": "b", "License": "CC0", "address": "https://x.org/b.jpg"}
    rows = [without["licence"], without["latitude"], whole, [1], "x", other]
    path = tmp_path / "world.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    run(path, project)
    assert list(Candidate.objects.order_by("key").values_list("key", "licence")) == [("a", "CC BY 4.0"), ("b", "CC0")]
    assert left_out(project) == {"no_licence": 1, "missing": 1, "unreadable": 2}


def test_candidates_without_a_licence_can_be_kept(tmp_path, project):
    path = tmp_path / "world.csv"
    path.write_text(f"{HEADER}\n{line('a', licence='')}\n")
    run(path, project, needs_licence=False)
    assert Candidate.objects.count() == 1


def test_only_the_first_faulty_lines_are_reported_and_all_are_counted(tmp_path, project, monkeypatch):
    monkeypatch.setattr(services, "MAX_REPORTED", 3)
    monkeypatch.setattr(services, "LINES_PER_TRANSACTION", 2)
    path = tmp_path / "world.csv"
    path.write_text("\n".join([HEADER, line("good"), *(line(str(number), at="0,0") for number in range(7))]))
    job = run(path, project)
    assert (job.rows.count(), left_out(project)) == (3, {"null_island": 7})


def test_a_packed_file_does_not_unpack_without_end(tmp_path, project, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_WORTH_A_LOOK_BYTES", 10**5)
    path = tmp_path / "world.csv.gz"
    path.write_bytes(gzip.compress(f"{HEADER}\n{line('a')}\n".encode() + b"\n" * 10**6))
    job = run(path, project)
    assert job.state == JobState.FAILED
    assert "would unpack to more than 200 times its size" in job.error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"key,address\na,b\n", "latitude"),
        (b"key,address,url,latitude,longitude\na,b,c,1,2\n", "only one"),
        (HEADER.encode() + b"\n", "no lines"),
        (f"{HEADER}\n{line('a')}\n".encode() + b"\xff\xfe", "UTF-8"),
        (gzip.compress(f"{HEADER}\n{line('a')}\n".encode())[:-12], "unpacked"),
        (f'{HEADER}\n{line("a")}\n"{line("b")}\n{line("c")}\n'.encode(), "on line 3 a quotation mark"),
        (
            f'{HEADER}\n{line("a")}\n"{line("b")}\n{(line("c") + chr(10)) * 4_000}'.encode(),
            "on line 3 a quotation mark",
        ),
    ],
)
def test_a_file_that_is_no_table_of_candidates_leaves_nothing(tmp_path, project, content, said):
    path = tmp_path / "world.csv"
    path.write_bytes(content)
    job = run(path, project)
    assert job.state == JobState.FAILED
    assert said in job.error
    assert not CandidateList.objects.exists()


def dies_at_the_third_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = services._CandidateImport._take, []

    def take(self, *about):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(self, *about)

    monkeypatch.setattr(services, "LINES_PER_TRANSACTION", 2)
    monkeypatch.setattr(services._CandidateImport, "_take", take)


def ten_lines() -> str:
    lines = [line(str(number)) for number in range(7)]
    return "\n".join([HEADER, line("0", address="https://x.org/o"), *lines, line("x", at="0,0"), line("6")])


def test_an_upload_that_was_killed_goes_on_where_it_was(project, monkeypatch):
    job = confirmed(ten_lines().encode(), "world.csv", project=project)
    dies_at_the_third_chunk(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        continued(job)
    assert Candidate.objects.count() == 3
    assert not summary_of(CandidateList.objects.get()).is_complete

    later = NOW + timedelta(minutes=5)
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=later) == [job.pk]
    part = continued(job, now=later).parts.get()
    assert (part.state, part.done) == (JobState.DONE, 10)
    assert sorted(Candidate.objects.values_list("key", flat=True)) == list("0123456")
    assert left_out(project) == {"key_twice": 2, "null_island": 1}
    assert list(part.rows.values_list("number", flat=True)) == [2, 9, 10]


def test_a_command_that_was_killed_goes_on_where_it_was(tmp_path, project, monkeypatch):
    path = tmp_path / "world.csv"
    path.write_text(ten_lines())
    dies_at_the_third_chunk(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(path, project)

    assert run(path, project).done == 6
    assert Candidate.objects.count() == 7
    assert left_out(project) == {"key_twice": 2, "null_island": 1}
    with pytest.raises(CandidatesRefusedError):
        run(path, project)


def test_the_command_says_what_was_kept_and_left_out(file, project):
    file.write_text(file.read_text() + "\n" + line("c", licence=""))
    out = StringIO()
    call_command("import", str(file), project=project.slug, stdout=out)
    assert "Added: 2, Already there: 0, Not imported: 1" in out.getvalue()
    assert "c: There is no licence." in out.getvalue()
    with pytest.raises(CommandError, match="already has a list"):
        call_command("import", str(file), project=project.slug)
    call_command("import", undo=ImportJob.objects.get(kind=ImportKind.FILES).pk)
    assert not CandidateList.objects.exists()
    call_command("import", str(file), project=project.slug, name="All", allow_no_licence=True)
    assert CandidateList.objects.get(slug="all").counts["kept"] == 3


def test_a_list_in_use_is_not_deleted(file, project):
    run(file, project)
    candidates = CandidateList.objects.get()
    Selection.objects.create(
        project=project,
        number=1,
        name="S",
        candidates=candidates,
        languages=[],
        levels=[],
        per_language=1,
        seed=1,
        areas={},
        table="1",
        created_at=NOW,
    )
    with pytest.raises(CandidatesRefusedError):
        delete_list(candidates=candidates, by=None, now=NOW)
    Selection.objects.all().delete()
    delete_list(candidates=candidates, by=None, now=NOW)
    assert not Candidate.objects.exists()


def test_a_manager_imports_looks_at_and_deletes_a_list(project, file):
    client = client_of(User.objects.get(username="mia"))
    upload = SimpleUploadedFile("World.csv", file.read_bytes())
    page = client.post(reverse("imports:import-create", args=[project.slug]), {"images": upload})["Location"]
    job = continued(ImportJob.objects.get())
    assert "Candidates" in client.get(page).content.decode()
    client.post(page)
    part = continued(job).parts.get()
    assert [vars(one)["sum_added"] for one in parts_of(job)] == [CandidateList.objects.get().counts["kept"]]
    report = client.get(reverse("images:import-show", args=[part.pk])).context["report"]
    kept = CandidateList.objects.get().counts["kept"]
    assert [count for outcome, _label, count in report.counts if outcome == "added"] == [kept]
    page = client.get(reverse("corpora:candidates-list", args=[project.slug])).content.decode()
    assert "World" in page
    assert "France" in page
    assert "/selections/new/?source=candidates:world" in page
    client.post(reverse("corpora:candidates-delete", args=[project.slug, "world"]))
    assert not CandidateList.objects.exists()
    logged = AuditEntry.objects.filter(project=project, action__startswith="candidates.").order_by("number")
    verbs = ["import_started", "imported", "deleted"]
    assert [(entry.action, entry.by.username) for entry in logged] == [(f"candidates.{verb}", "mia") for verb in verbs]
    assert logged[1].details["kept"] > 0


@pytest.mark.parametrize(
    ("address", "is_good"),
    [
        ("https://x.org/a.jpg", True),
        ("http://x.org", True),
        ("folder/a.jpg", True),
        ("a.jpg", True),
        ("ftp://x.org/a.jpg", False),
        ("file:///etc/passwd", False),
        ("//x.org/a.jpg", False),
        ("/etc/passwd", False),
        ("a/../../b.jpg", False),
        ("..\\b.jpg", False),
        ("C:\\b.jpg", False),
        ("https://ann:secret@x.org/a.jpg", False),
        ("https://", False),
        ("https://x.org:99999/", False),
        ("javascript:alert(1)", False),
    ],
)
def test_addresses_are_of_the_web_or_stay_in_their_folder(address, is_good):
    assert is_address(address) is is_good


@pytest.mark.parametrize(
    ("host", "is_of_one"),
    [
        ("93.184.215.14", False),
        ("10.example.org", False),
        ("127.0.0.1", True),
        ("[::1]", True),
        ("10.0.0.1:8000", True),
        ("169.254.169.254", True),
        ("LOCALHOST", True),
    ],
)
def test_addresses_of_private_networks_are_known(host, is_of_one):
    assert is_private(f"http://{host}/a.jpg") is is_of_one


@pytest.mark.parametrize(
    ("licence", "url", "expected"),
    [
        ("CC BY 4.0", "", ("CC BY 4.0", "")),
        ("https://x.org/mine", "", ("", "https://x.org/mine")),
        ("", "javascript:alert(1)", ("javascript:alert(1)", "")),
        ("CC BY 4.0", "see below", ("CC BY 4.0", "")),
        ("", "https://creativecommons.org/publicdomain/zero/1.0/", None),
    ],
)
def test_the_name_of_a_licence_follows_from_its_address(licence, url, expected):
    assert licence_of(licence, url) == (expected or ("CC0 1.0", url))


def test_checksums_are_known_by_their_length():
    assert checksum_of("D41D8CD98F00B204E9800998ECF8427E") == checksum_of(MD5)
    assert checksum_of("sha256:" + "ab" * 32) == "sha256:" + "ab" * 32
    assert checksum_of("sha-256:" + "ab" * 16) is None
    assert checksum_of("not a sum") is None
    assert checksum_of("") == ""
