"""Our CRD generator: pydantic models of `rca_rollout.api` in, structural OpenAPI v3 schemas out.

No kept library does this. What pydantic emits and Kubernetes refuses is translated in `structural.py`; a
keyword that is not known there ends the generation, so that nothing is lost on the way without a word.
"""
