"""The API against its OpenAPI schema: no request is a server error, and every response matches."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from helpers.examples import examples

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis comes with framesift[dev]")

EXAMPLES = examples(30)  # per operation
NOT_TESTED = ("/api/stream", "/api/sample")  # endless; slow
OPERATIONS = [
    "GET /api/videos",
    "POST /api/videos",
    "GET /api/videos/{video}",
    "DELETE /api/videos/{video}",
    "POST /api/uploads",
    "POST /api/videos/{video}/subtitles",
    "GET /api/videos/{video}/file",
    "GET /api/videos/{video}/events",
    "GET /api/videos/{video}/thumbnail.jpg",
    "GET /api/videos/{video}/frames/{time_s}.jpg",
    "GET /api/videos/{video}/near/{time_s}.jpg",
    "GET /api/jobs",
    "POST /api/videos/{video}/index",
    "GET /api/jobs/{job}",
    "DELETE /api/jobs/{job}",
    "POST /api/jobs/{job}/first",
    "GET /api/choices",
    "GET /api/search",
    "POST /api/videos/{video}/select",
    "POST /api/videos/{video}/view",
    "POST /api/videos/{video}/ask",
    "GET /api/videos/{video}/export",
    "GET /api/videos/{video}/history",
    "POST /api/videos/{video}/history",
    "PATCH /api/videos/{video}/history/{kept}",
    "DELETE /api/videos/{video}/history/{kept}",
    "POST /api/videos/{video}/history/{kept}/answers",
    "GET /api/videos/{video}/history/{kept}/answers/{answer}",
    "DELETE /api/videos/{video}/history/{kept}/answers/{answer}",
    "POST /api/readers",
    "POST /api/readers/test",
    "DELETE /api/readers",
]


@pytest.fixture(scope="module")
def api(shared_server):
    return schemathesis.openapi.from_url(f"{shared_server.url}/api/openapi.json")


def test_every_operation_is_tested(api):
    known = {operation.ok().label for operation in api.get_all_operations()}
    assert known == {
        *OPERATIONS,
        *(f"{method} {path}" for method, path in zip(("GET", "POST"), NOT_TESTED, strict=True)),
    }


@pytest.mark.slow
def test_responses_match_the_schema_and_are_not_server_errors(shared_server, api):
    for label in OPERATIONS:
        method, path = label.split()
        check_operation(api[path][method], shared_server.boat)


def check_operation(operation, ready_video):
    kinds = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    cases = st.one_of(*(operation.as_strategy(generation_mode=kind) for kind in kinds))
    checks = [
        schemathesis.checks.not_a_server_error,
        schemathesis.specs.openapi.checks.status_code_conformance,
        schemathesis.specs.openapi.checks.content_type_conformance,
        schemathesis.specs.openapi.checks.response_schema_conformance,
    ]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.booleans())
    def run(case, is_ready):
        # Half the requests are for a video that is ready: an unknown id only tests the 404.
        if is_ready and case.path_parameters and "video" in case.path_parameters:
            case.path_parameters["video"] = ready_video
        case.call_and_validate(checks=checks)

    run()


def test_schema_and_its_page_are_served(shared_server):
    described = shared_server.get("/api/openapi.json").json()
    assert described["info"]["title"] == "framesift" and "/api/videos/{video}/view" in described["paths"]
    assert shared_server.get("/api/docs").status_code == 200
