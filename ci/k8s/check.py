"""Reads Kubernetes manifests, also those in a Markdown page, with the types of the Python client (Debian: python3-kubernetes). They refuse what
lacks a field that must be there or has one of another type; this refuses what they do not know. Of kinds that the client does not know, it checks
the templates of jobs.

  check.py FILE...
"""
import json
import re
import sys

import yaml
from kubernetes import client

KINDS = {"Service": "V1Service", "Secret": "V1Secret", "Job": "V1Job"}
REPLICATED_JOBS = {"JobSet": ["spec", "replicatedJobs"], "TrainingRuntime": ["spec", "template", "spec", "replicatedJobs"], "TrainJob": []}


class Answer:  # what ApiClient.deserialize wants: something with .data
    def __init__(self, text):
        self.data = text


def unknown(value, kind, where):
    """Fields of `value` that the type `kind` does not have, at any depth."""
    if kind.startswith("list["):
        return [name for i, item in enumerate(value) for name in unknown(item, kind[5:-1], f"{where}[{i}]")]
    if not hasattr(client, kind) or not isinstance(value, dict):
        return []
    attributes = {json: name for name, json in getattr(client, kind).attribute_map.items()}
    found = []
    for name, inner in value.items():
        if name not in attributes:
            found.append(f"{where}.{name}")
        else:
            found += unknown(inner, getattr(client, kind).openapi_types[attributes[name]], f"{where}.{name}")
    return found


def typed(document):
    """Yields (value, type of the client) for what is to be checked in a document."""
    kind = document["kind"]
    if kind in KINDS:
        yield document, KINDS[kind]
    elif kind in REPLICATED_JOBS:
        jobs = document
        for name in REPLICATED_JOBS[kind]:
            jobs = jobs[name]
        for job in jobs if REPLICATED_JOBS[kind] else ():
            yield job["template"], "V1JobTemplateSpec"
    else:
        sys.exit(f"a {kind} is not expected here: {', '.join([*KINDS, *REPLICATED_JOBS])}")


def check_sizes(spec, nodes):
    """Every pod is a process of one run, so all that says how many there are must agree. `nodes`: what a TrainingRuntime says."""
    variables = {v["name"]: v.get("value") for v in spec["template"]["spec"]["containers"][0]["env"]}
    if nodes is None and spec.get("completionMode") != "Indexed":
        sys.exit("an Indexed Job is expected")
    sizes = [nodes] if nodes is not None else [spec["completions"], spec["parallelism"]]
    if {*sizes} != {int(variables["HOPBENCH_WORLD_SIZE"])}:
        sys.exit("completions, parallelism or numNodes and HOPBENCH_WORLD_SIZE differ")


def documents_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S) if path.endswith(".md") else [text]
    return [document for block in blocks for document in yaml.safe_load_all(block) if "kind" in document]


def main(paths):
    api, documents, jobs = client.ApiClient(), [each for path in paths for each in documents_of(path)], 0
    for document in documents:
        for value, kind in typed(document):
            api.deserialize(Answer(json.dumps(value)), kind)
            if names := unknown(value, kind, document["kind"]):
                sys.exit(f"no such field: {', '.join(names)}")
            if "template" in value.get("spec", {}):
                check_sizes(value["spec"], document["spec"].get("mlPolicy", {}).get("numNodes"))
                jobs += 1
    print(f"{len(documents)} documents with {jobs} jobs are as their types want")


main(sys.argv[1:])
