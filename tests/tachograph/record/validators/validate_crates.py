"""Validate crates without a network: python validate_crates.py CACHE LEVEL CRATE …

Runs in the environment of envs/requirements-validators.txt. Prints as JSON, per crate, the sentences of roc-validator's
findings of the profile provenance-run-crate-0.5. It reads JSON-LD contexts through a cache of HTTP responses, which is
filled here with the two documents that a record refers to: the RO-Crate 1.1 context, which the package rocrate 0.13
ships, and the one of Workflow Run Crate terms beside this file (repository ResearchObject/ro-terms,
workflow-run/context.json).
"""

import importlib.metadata
import io
import json
import sys
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import ValidationSettings
from urllib3 import HTTPResponse

CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": Path(
        importlib.metadata.distribution("rocrate").locate_file("rocrate/data/ro-crate.jsonld")
    ),
    "https://w3id.org/ro/terms/workflow-run/context": Path(__file__).with_name("workflow-run-context.json"),
}


class Documents(HTTPAdapter):
    """Answers requests for the contexts from the files that hold them."""

    def send(self, request, **options):
        body = io.BytesIO(CONTEXTS[request.url].read_bytes())
        headers = {"Content-Type": "application/ld+json"}
        answer = HTTPResponse(body, headers, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, answer)


def fill(cache):
    with CachedSession(cache_name=cache, backend="sqlite", expire_after=-1) as session:
        session.mount("https://w3id.org/", Documents())
        for url in CONTEXTS:
            session.get(url).raise_for_status()


def findings(crate, cache, level):
    settings = ValidationSettings(
        rocrate_uri=crate,
        profile_identifier="provenance-run-crate-0.5",
        requirement_severity=level,
        offline=True,
        cache_path=cache,
    )
    result = services.validate(settings)
    return sorted({f"{issue.severity.name} {issue.check.identifier}: {issue.message}" for issue in result.get_issues()})


if __name__ == "__main__":
    cache, level, *crates = sys.argv[1:]
    fill(cache)
    print(json.dumps({crate: findings(crate, cache, level) for crate in crates}))
