"""Read an in-toto statement with the bindings of its own project: python validate_statement.py FILE

Runs in the environment of envs/requirements-validators.txt. Fields that the format does not know are an error, as are
subjects without a digest. Prints the number of subjects.
"""

import json
import sys
from pathlib import Path

from google.protobuf.json_format import ParseDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message

statement = json.loads(Path(sys.argv[1]).read_text())
message = ParseDict(statement, Message())
Statement.copy_from_pb(message).validate()
ParseDict(statement["predicate"], Provenance())
print(len(message.subject))
