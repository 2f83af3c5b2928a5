"""The schema says what the API does: Schemathesis sends what it allows and what it forbids."""

from __future__ import annotations

from typing import Any, cast

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from console.api.application import build_api
from console.web.state import AppState
from tests.console.api.conftest import CORPUS, TOKEN, Api

BEARER = {"Authorization": f"Bearer {TOKEN}"}
# The schema needs nothing of a console that runs.
schema = schemathesis.openapi.from_dict(
    cast(FastAPI, build_api(cast(AppState, None)).app).openapi()
)


@schema.parametrize()
@settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_endpoint_answers_as_its_schema_says(
    case: schemathesis.Case[Any], api: Api, finished: str
) -> None:
    if case.method == "GET" and len(str(case.path_parameters)) % 2:
        # Some that exist: most of the names that are made up end with 404.
        known = {"job_id": finished, "name": CORPUS}
        case.path_parameters = {k: known.get(k, v) for k, v in case.path_parameters.items()}
    case.call_and_validate(
        base_url=api.url,
        headers=BEARER,
        # A request may be as the schema says and name a corpus or a model that is not there; and
        # after a few wrong tokens an address has to wait.
        excluded_checks=[positive_data_acceptance, ignored_auth],
    )
