"""Every reason that a condition, a run or an Event can carry, with its meaning.

The words are public: alerts and scripts match on them. The documentation's table is printed from this enum.
"""

from enum import StrEnum


class Reason(StrEnum):
    """A CamelCase word; `meaning` is one line for the person who reads it."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> "Reason":
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    # Any kind
    AS_EXPECTED = "AsExpected", "Everything is as the spec wants it, or on its way there without a problem."
    INITIALIZING = "Initializing", "The operator has not looked at the object yet."
    RESUMED = "Resumed", "spec.suspend was lifted; the clocks go on from where they stood."
    SUSPENDED = "Suspended", "spec.suspend is set: nothing is evaluated or promoted."
    INVALID_SPEC = "InvalidSpec", "The spec cannot be used; the message names the field."

    # What a component or run needs
    SUITE_NOT_FOUND = "SuiteNotFound", "The EvalSuite named by suiteRef does not exist in this namespace."
    SUITE_UNREADABLE = (
        "SuiteUnreadable",
        "The EvalSuite, its dataset or its baseline may not be read: the operator has no right to it.",
    )
    TARGET_UNREADABLE = "TargetUnreadable", "The target may not be read: the operator has no right to it."
    SUITE_NOT_READY = (
        "SuiteNotReady",
        "The EvalSuite exists but cannot be used; its own Ready condition says why.",
    )
    COMPONENT_NOT_FOUND = "ComponentNotFound", "The RcaComponent named by componentRef does not exist."
    DATASET_NOT_FOUND = "DatasetNotFound", "The dataset's ConfigMap does not exist."
    DATASET_KEY_MISSING = "DatasetKeyMissing", "The dataset's ConfigMap has no such key."
    DATASET_INVALID = "DatasetInvalid", "The ground truth does not follow its schema."
    DATASET_CHANGED = "DatasetChanged", "The dataset's digest is not the expected one."
    BASELINE_NOT_FOUND = "BaselineNotFound", "The baseline's ConfigMap does not exist."
    BASELINE_KEY_MISSING = "BaselineKeyMissing", "The baseline's ConfigMap has no such key."
    BASELINE_INVALID = "BaselineInvalid", "The baseline does not follow its schema."
    BASELINE_STALE = "BaselineStale", "The baseline was measured on another dataset: renew it."

    # What runs
    WORKLOAD_NOT_FOUND = "WorkloadNotFound", "The workload named by workloadRef does not exist."
    WORKLOAD_UNREADABLE = (
        "WorkloadUnreadable",
        "The workload or its Pods may not be read: the operator has no right to it.",
    )
    WORKLOAD_NOT_RUNNING = "WorkloadNotRunning", "No Pod of the workload runs, so nothing says what it runs."
    CONTAINER_NOT_FOUND = "ContainerNotFound", "The workload's Pods have no such container, or several."
    ROLLOUT_IN_PROGRESS = (
        "RolloutInProgress",
        "The workload is being rolled: its Pods do not run the same yet.",
    )
    ROLLOUT_STUCK = "RolloutStuck", "The workload is half rolled, and does not go on by itself."
    IMAGES_DIFFER = (
        "ImagesDiffer",
        "Pods of one template run different images: a tag was moved. Restart the workload, or name the image by digest.",
    )
    REVISION_UNNAMED = (
        "RevisionUnnamed",
        "target.values.active holds {revision}, and the Pods do not name theirs in rca.bluerobin.io/revision.",
    )
    IMAGE_NAMED_TWICE = (
        "ImageNamedTwice",
        "The suite names job.image, and the component is evaluated with the image of its workload: leave one out.",
    )
    INPUT_NOT_FOUND = "InputNotFound", "The ConfigMap or Secret of an input does not exist, or lacks the key."
    INPUT_UNREADABLE = "InputUnreadable", "An input may not be read: the operator has no right to it."
    INPUT_CHANGED = (
        "InputChanged",
        "An input changed, so the component shadows until it is promoted with the new one.",
    )
    IMAGE_CHANGED = (
        "ImageChanged",
        "The image that ran is not the one that was planned, or that was measured before: no verdict, and a new epoch.",
    )
    GOVERNS_AGAIN = (
        "GovernsAgain",
        "The promoted revision runs again and its word was held: it governs on its evidence, and is guarded at once.",
    )
    REVISION_HELD = (
        "RevisionHeld",
        "The key holds the word of the promoted revision, which the one that runs reads as Shadow (onNewRevision Hold).",
    )

    # Schedules and budgets
    SCHEDULE_INVALID = (
        "ScheduleInvalid",
        "The schedule of the EvalSuite cannot be followed: an unknown time zone, or a time that never comes.",
    )
    BUDGET_EXCEEDED = (
        "BudgetExceeded",
        "The month's budget of the EvalSuite has no room for another run; the message says when it begins anew.",
    )
    RUN_OVER_BUDGET = (
        "RunOverBudget",
        "The run used more than budget.tokensPerRun or budget.costPerRun: it is no pass.",
    )
    USAGE_UNKNOWN = (
        "UsageUnknown",
        "The engine did not say for every answer what it used, so a budget cannot be kept: it is no pass.",
    )

    # The target
    TARGET_NOT_FOUND = "TargetNotFound", "The target's ConfigMap does not exist."
    TARGET_NOT_OPTED_IN = (
        "TargetNotOptedIn",
        "The target's ConfigMap lacks our label, or does not list the key.",
    )
    TARGET_CLAIMED = (
        "TargetClaimed",
        "An older RcaComponent holds the same key, in the same ConfigMap or suite.",
    )
    TARGET_IMMUTABLE = "TargetImmutable", "The target's ConfigMap is immutable, so its key cannot be written."
    TARGET_KEY_MISSING = (
        "TargetKeyMissing",
        "The target's ConfigMap has no such key yet; consumers read that as Shadow.",
    )
    CONFIG_CONFLICT = (
        "ConfigConflict",
        "Another manager owns the key, or keeps writing it; the message names it.",
    )
    IN_SYNC = "InSync", "The key holds the value that was last written or adopted."
    UNKNOWN_VALUE = "UnknownValue", "The key holds neither of the two values; nothing is written."
    EXTERNAL = "External", "Somebody else set the key to shadow; it stays so until a retry or a new epoch."
    ACTIVE_WITHOUT_EVIDENCE = (
        "ActiveWithoutEvidence",
        "Somebody else set the key to active without a promotion.",
    )

    # Evaluated
    NOT_EVALUATED = "NotEvaluated", "No run of this epoch has ended yet."
    RUN_PENDING = "RunPending", "A run waits for its turn, or for its Job."
    RUN_IN_PROGRESS = "RunInProgress", "A run is under way."
    WAITING_FOR_TURN = "WaitingForTurn", "The suite's other runs or promotions come first."
    GATE_PASSED = "GatePassed", "Every check of the gate passed."
    GATE_FAILED = "GateFailed", "A check of the gate failed; the message carries both numbers."
    GATE_INCONCLUSIVE = "GateInconclusive", "The run was not valid, so it says nothing; it is tried again."
    GATE_ERROR = "GateError", "The run did not produce a result; it is tried again."
    RETRY_SCHEDULED = "RetryScheduled", "The last run said nothing; the next one starts at the time named."
    EVAL_ERRORS = "EvalErrors", "Too many runs in a row said nothing: blocked until a new epoch or a retry."
    EPOCH_CHANGED = "EpochChanged", "What is measured has changed, so all evidence starts anew."
    CONTEXT_CHANGED = (
        "ContextChanged",
        "Another component of the suite has changed, so a fresh gate run is needed.",
    )

    # Observed
    NOT_OBSERVED = "NotObserved", "The observation has not begun."
    OBSERVATION_STARTED = "ObservationStarted", "The gate passed; the observation period has begun."
    OBSERVATION_RUNNING = "ObservationRunning", "The period or the number of passing runs is not reached yet."
    OBSERVATION_COMPLETE = "ObservationComplete", "Period, passing runs and the closing run are all there."
    OBSERVATION_FAILED = "ObservationFailed", "A run failed during the observation."
    OBSERVATION_RESET = "ObservationReset", "The observation began again; the message says what changed."
    OBSERVATION_HELD = (
        "ObservationHeld",
        "A live condition is violated or has no data: the time of the observation does not count meanwhile.",
    )
    CONDITION_VIOLATED = (
        "ConditionViolated",
        "A live condition is violated. A Guardrail blocks, and demotes what is Active; a Signal is an alert.",
    )
    CONDITION_NO_DATA = (
        "ConditionNoData",
        "A live condition has had no data for longer than its noDataGrace.",
    )
    CLOSING_RUN = "ClosingRun", "The period is over; one last run decides."

    # Promoted
    NOT_PROMOTED = "NotPromoted", "The component shadows; it has not been promoted."
    AWAITING_APPROVAL = (
        "AwaitingApproval",
        "All evidence is there; a person has to approve it (promotion.approval is Manual).",
    )
    NO_BENEFIT = (
        "NoBenefit",
        "promotion.requireBenefit is set, and no incident is explained that is not explained without the component.",
    )
    PROMOTING = "Promoting", "The key is being written."
    PROMOTED = "Promoted", "The key was switched to active on evidence."
    ADOPTED = "Adopted", "The key was active when the component was first seen; it is guarded at once."
    UNCONFIRMED = "Unconfirmed", "The key is written; no consumer was asked to confirm it."
    CONFIRMING = "Confirming", "The key is written; not every replica of the consumer has loaded it yet."
    CONFIRMED = "Confirmed", "Every replica of the consumer has loaded the mode, later than it should have."
    CONFIRMATION_FAILED = (
        "ConfirmationFailed",
        "Not every replica loaded Active in time: the key was put back until a retry or a new epoch.",
    )
    HELD = "Held", "spec.mode is Shadow: evaluated, and held back."
    SHADOW_REQUESTED = "ShadowRequested", "spec.mode was set to Shadow: the key was put back at once."
    DEMOTE_REQUESTED = (
        "DemoteRequested",
        "A person had the key put back to shadow; it stays so until a retry or a new epoch.",
    )
    VERB_ACCEPTED = "VerbAccepted", "A person's annotation was carried out; status.verbs says who and why."
    VERB_REFUSED = "VerbRefused", "A person's annotation was not carried out; the message says why."
    DEMOTING = "Demoting", "The key is being put back to shadow."
    DEMOTED = "Demoted", "The key was put back to shadow."
    DEMOTION_UNCONFIRMED = (
        "DemotionUnconfirmed",
        "The key reads shadow, but not every replica of the consumer has loaded that yet: no promotion before.",
    )
    REVISION_CHANGED = (
        "RevisionChanged",
        "A new revision came, so the component shadows until it is promoted itself.",
    )
    WRITE_CONFLICT = "WriteConflict", "The key changed between reading and writing; it is read again."
    WRITE_FAILED = "WriteFailed", "The API server refused the write; the message says why."

    # Deletion
    DELETED = "Deleted", "The component is being deleted: the key was put back to shadow before it."
    REVERTED_TO_SHADOW = "RevertedToShadow", "The key reads shadow, so the object may go."
    REVERT_GIVEN_UP = (
        "RevertGivenUp",
        "The key could not be put back within 5 minutes of the deletion: it may still be active.",
    )

    # Guard
    GUARD_PASSED = "GuardPassed", "The last guard run found no regression."
    GUARD_FAILED = "GuardFailed", "A guard run failed: with the component it is worse than without."
    GUARD_BLIND = "GuardBlind", "Guard runs keep saying nothing: the component is unguarded."
    GUARD_STOPPED = "GuardStopped", "Active, but suspended: no guard runs."
    HARM_SUSPECTED = "HarmSuspected", "A run that is not valid shows harm; a second one starts at once."
    ENGINE_REGRESSION = (
        "EngineRegression",
        "The result is worse with and without the component: it is not to blame.",
    )

    # The gate: validity
    NO_BASELINE = "NoBaseline", "There is no baseline to compare with."
    DATASET_MISMATCH = "DatasetMismatch", "Scorecard and baseline were made on different datasets."
    INCIDENT_SET_MISMATCH = "IncidentSetMismatch", "Scorecard and baseline list different incidents."
    TOO_FEW_INCIDENTS = "TooFewIncidents", "The dataset has fewer incidents than minIncidents."
    TOO_FEW_FAULT_CLASSES = "TooFewFaultClasses", "The dataset has fewer fault classes than minFaultClasses."
    VARIANT_MISSING = "VariantMissing", "The scorecard lacks a variant."
    ARM_MISSING = "ArmMissing", "The scorecard lacks an arm."
    REPEATS_DIFFER = "RepeatsDiffer", "Two repeats of the same run gave different results."
    AGGREGATE_MISMATCH = "AggregateMismatch", "The scorecard's figures do not follow from its rows."
    NON_FINITE = "NonFinite", "The scorecard holds a figure that is no finite number."
    REVISION_MISMATCH = "RevisionMismatch", "The scorecard is about another revision."
    IMPLAUSIBLE_TIMES = "ImplausibleTimes", "The measured times cannot be true."
    GATE_INSENSITIVE = "GateInsensitive", "The known-bad control passed, so a pass would mean nothing."
    SELF_REPORTED = "SelfReported", "The scorecard was not made by our scorer."

    PROTECTED_UNKNOWN = (
        "ProtectedUnknown",
        "A protected incident is not in the dataset, or has no telemetry, so that nothing guards it.",
    )
    NO_SCORECARD = "NoScorecard", "There was no scorecard to judge."
    NOTHING_COMPARED = "NothingCompared", "No check of the gate applied, so nothing was compared."
    POLICY_INVALID = "PolicyInvalid", "The gate's policy does not follow its schema."

    # The gate: checks
    ACCURACY_REGRESSED = "AccuracyRegressed", "AC@1 dropped by more than the tolerance."
    MTTR_REGRESSED = "MttrRegressed", "MTTR rose by more than the tolerance."
    PROTECTED_INCIDENT_LOST = "ProtectedIncidentLost", "A protected incident is no longer explained."
    SHADOW_COLLAPSE = "ShadowCollapse", "With everything in Shadow the result is not the committed baseline."
    SHADOW_FIDELITY = "ShadowFidelity", "What Shadow logged is not, or not always, what Active ranks."
    REFERENCE_DRIFT = (
        "ReferenceDrift",
        "With these components Active the answers are not the committed reference.",
    )
    REGRESSED_INCIDENTS = "RegressedIncidents", "More incidents were lost than maxRegressedIncidents allows."
    NO_EFFECT = "NoEffect", "The component changed no ranking (a warning)."

    # The Job
    JOB_CREATED = "JobCreated", "The Job was made."
    JOB_REFUSED = "JobRefused", "The API server refused the Job; the message says why."
    JOB_CONFLICT = "JobConflict", "A Job of that name exists and is not ours."
    RUN_REFUSED = "RunRefused", "The API server refused the EvalRun; the message says why."
    RUN_LOST = "RunLost", "The EvalRun was deleted or replaced before it ended; another one is made."
    JOB_SUSPENDED = "JobSuspended", "Somebody has suspended the Job; it waits, and no time runs."
    QUEUED = "Queued", "The Job waits in the queue of job.queueName; no time runs before it is admitted."
    POD_REFUSED = (
        "PodRefused",
        "The Job is there, and its Pod is not let in: a quota, a limit range, admission or Pod security.",
    )
    POD_REJECTED = "PodRejected", "The node that the Pod was given to did not take it; tried again for free."
    POD_NOT_SET_UP = "PodNotSetUp", "The node cannot set the Pod up: a volume, or the network."
    POD_ALTERED = "PodAltered", "The Pod did not have the steps that it was made of: a webhook changed it."
    POD_DELETED = "PodDeleted", "Somebody deleted the Pod before it ended; tried again for free."
    POD_FAILED = "PodFailed", "The Pod failed for a reason of its own; the message names it."
    JOB_LOST = "JobLost", "The Job or its Pod vanished before the result was read."
    IMAGE_PULL_FAILED = "ImagePullFailed", "An image cannot be pulled."
    INVALID_IMAGE = "InvalidImage", "What is given as an image is no name of one."
    CONTAINER_CONFIG_ERROR = "ContainerConfigError", "A container cannot be made from its settings."
    UNSCHEDULABLE = "Unschedulable", "No node takes the Pod."
    START_TIMEOUT = "StartTimeout", "The Pod did not start in time."
    DEADLINE_EXCEEDED = "DeadlineExceeded", "The Pod ran longer than job.timeout."
    EVICTED = (
        "Evicted",
        "The Pod was taken away (a drain, the Eviction API, a node that shuts down); tried again for free.",
    )
    PREEMPTED = "Preempted", "The Pod made room for one of higher priority; tried again for free."
    TAINT_EVICTED = (
        "TaintEvicted",
        "A taint of the node took the Pod away, mostly since the node is not ready; tried again for free.",
    )
    NODE_PRESSURE = "NodePressure", "The node ran short of memory, disk or processes; tried again for free."
    NODE_LOST = "NodeLost", "The node does not answer, or is gone; tried again for free."
    STORAGE_EXCEEDED = "StorageExceeded", "A container wrote more than a volume or its own limit holds."
    SIDECAR_NOT_READY = (
        "SidecarNotReady",
        "A container that has to be ready before the evaluation is not: a sidecar, or what a mesh injects.",
    )
    SIDECAR_FAILED = "SidecarFailed", "A container beside the evaluation failed, and the Pod with it."
    OUT_OF_MEMORY = "OutOfMemory", "A container was killed for its memory use."
    PREPARE_FAILED = "PrepareFailed", "The container that prepares the incidents failed."
    EVAL_FAILED = "EvalFailed", "The eval container ended with an error; the log's end is in logTail."
    SCORECARD_FAILED = "ScorecardFailed", "The container that scores failed."

    ENGINE_FAILED = "EngineFailed", "The engine could not work on its incidents."
    ENVIRONMENT_INVALID = "EnvironmentInvalid", "A container of ours got settings that it cannot use."
    FILE_UNREADABLE = "FileUnreadable", "A container of ours cannot read or write a file."
    STORE_UNAVAILABLE = "StoreUnavailable", "The graph store cannot be reached or started."
    STORE_KEY_REFUSED = "StoreKeyRefused", "The graph key is not one that an evaluation may use."
    JUDGEMENT_INVALID = (
        "JudgementInvalid",
        "An answer of the judge is not what it was asked for; it is left out.",
    )
    JUDGE_UNAVAILABLE = (
        "JudgeUnavailable",
        "The judge gave no opinion on any incident; no verdict depends on it.",
    )
    USAGE = "Usage", "A command of the harness was called with arguments that it does not have."
    SELFTEST_INVALID = "SelftestInvalid", "The gate's self-test does not fit the version that it tests."
    DATABASE_UNAVAILABLE = "DatabaseUnavailable", "The agent's record of incidents cannot be reached."
    LIFECYCLE_REFUSED = (
        "LifecycleRefused",
        "An incident has been acknowledged or resolved already; that stays.",
    )
    AGENT_UNAVAILABLE = "AgentUnavailable", "The agent does not answer, or not with what was asked."

    # What the Job leaves behind
    MANIFEST_INVALID = "ManifestInvalid", "The list of runs for the engine does not follow the protocol."
    INCIDENT_INVALID = "IncidentInvalid", "A redacted incident does not follow the protocol."
    PREDICTIONS_MISSING = "PredictionsMissing", "The eval container wrote no predictions.json."
    PREDICTIONS_INVALID = "PredictionsInvalid", "predictions.json does not follow the protocol."
    PREDICTIONS_TOO_LARGE = "PredictionsTooLarge", "predictions.json is larger than 8 MiB."
    SCORECARD_MISSING = "ScorecardMissing", "The log holds no complete scorecard."
    SCORECARD_TRUNCATED = "ScorecardTruncated", "The log ends in the middle of the scorecard."
    SCORECARD_TOO_LARGE = "ScorecardTooLarge", "The scorecard is larger than a ConfigMap can hold."
    SCORECARD_INVALID = "ScorecardInvalid", "The scorecard does not follow its schema."
    DIGEST_MISMATCH = "DigestMismatch", "The scorecard's digest is not the one the container reported."
    SHARD_MISSING = (
        "ShardMissing",
        "A shard left no result, so the whole is not known; nothing less is judged.",
    )
    SHARD_MISMATCH = "ShardMismatch", "The parts of a run are not parts of one whole; the message says which."
    LOG_UNAVAILABLE = "LogUnavailable", "The container's log cannot be read."
    SCORECARD_REFUSED = (
        "ScorecardRefused",
        "The API server refused the ConfigMap for the scorecard; the message says why.",
    )
    SCORECARD_CONFLICT = (
        "ScorecardConflict",
        "The ConfigMap for the scorecard exists and holds something else.",
    )

    # The end of a run
    ABORTED = "Aborted", "A person stopped the run."
    SUPERSEDED = "Superseded", "What was to be measured changed during the run; it does not count."
