"""Answers as the providers give them instead of an answer, and what each means.

At least one for each kind that a provider can cause.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
"""When they were given, which those need that tell an instant."""


class Row(NamedTuple):
    """What was answered by whom, and what that means."""

    dialect: Dialect
    status: int | None
    body: Any
    kind: Kind
    wait: float | None = None
    headers: Mapping[str, str] = MappingProxyType({})


def openai(message: str, type_: str | None, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def anthropic(type_: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type_, "message": message}, "request_id": "req_1"}


def gemini(code: int, status: str, message: str, *details: dict[str, Any]) -> Any:
    error = {"code": code, "message": message, "status": status, "details": [*details]}
    return [{"error": error}]


def dashscope(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "request_id": "7438d53d"}


QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
FILTERED = {
    "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
        },
    }
}

ROWS = {
    # OpenAI
    "openai requests a minute": Row(
        Dialect.OPENAI, 429,
        openai("Rate limit reached for requests. Please try again in 20s.", "requests",
               "rate_limit_exceeded"),
        Kind.RATE_LIMIT, 20.0,
    ),
    "openai tokens, in a header of milliseconds": Row(
        Dialect.OPENAI, 429, openai("Rate limit reached", "tokens", "rate_limit_exceeded"),
        Kind.RATE_LIMIT, 1.5, {"Retry-After-Ms": "1500", "Retry-After": "1"},
    ),
    "openai only the limit that is used up counts": Row(
        Dialect.OPENAI, 429, openai("Rate limit reached", "tokens", "rate_limit_exceeded"),
        Kind.RATE_LIMIT, 0.12,
        {
            "x-ratelimit-remaining-requests": "499", "x-ratelimit-reset-requests": "8m20s",
            "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms",
        },
    ),
    "openai money": Row(
        Dialect.OPENAI, 429,
        openai("You exceeded your current quota, please check your plan and billing details.",
               "insufficient_quota", "insufficient_quota"),
        Kind.QUOTA,
    ),
    "openai overloaded": Row(
        Dialect.OPENAI, 503,
        openai("The server is currently overloaded with other requests.", "server_error",
               "server_is_overloaded"),
        Kind.OVERLOADED,
    ),
    "openai fault": Row(
        Dialect.OPENAI, 500,
        openai("The server had an error while processing your request.", "server_error", None),
        Kind.SERVER_ERROR,
    ),
    "openai a conflict heals": Row(
        Dialect.OPENAI, 409, openai("Conflict", "conflict", None), Kind.SERVER_ERROR
    ),
    "openai policy": Row(
        Dialect.OPENAI, 400,
        openai("Your request was rejected by our safety system.", "invalid_request_error",
               "content_policy_violation"),
        Kind.CONTENT_POLICY,
    ),
    "openai context": Row(
        Dialect.OPENAI, 400,
        openai("This model's maximum context length is 128000 tokens.", "invalid_request_error",
               "context_length_exceeded"),
        Kind.CONTEXT_LENGTH,
    ),
    "openai a parameter": Row(
        Dialect.OPENAI, 400,
        openai("Invalid value for 'temperature'.", "invalid_request_error", "invalid_value"),
        Kind.INVALID_INPUT,
    ),
    "openai a key": Row(
        Dialect.OPENAI, 401,
        openai("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
        Kind.AUTH,
    ),
    "openai a model that is not there": Row(
        Dialect.OPENAI, 404,
        openai("The model `gpt-9` does not exist.", "invalid_request_error", "model_not_found"),
        Kind.CONFIG,
    ),
    "openai in a stream": Row(
        Dialect.OPENAI, None, openai("The server had an error.", "server_error", None),
        Kind.SERVER_ERROR,
    ),
    # Azure
    "azure words instead of a header": Row(
        Dialect.AZURE, 429,
        {"error": {"code": "429", "message": "Requests have exceeded call rate limit of your "
                   "current pricing tier. Please retry after 26 seconds."}},
        Kind.RATE_LIMIT, 26.0,
    ),
    "azure filter": Row(Dialect.AZURE, 400, FILTERED, Kind.CONTENT_POLICY),
    "azure no such deployment": Row(
        Dialect.AZURE, 404,
        {"error": {"code": "DeploymentNotFound", "message": "The deployment does not exist."}},
        Kind.CONFIG,
    ),
    "azure access": Row(
        Dialect.AZURE, 403,
        {"error": {"code": "403", "message": "Access denied due to Virtual Network rules."}},
        Kind.AUTH,
    ),
    # Anthropic
    "anthropic a minute's tokens": Row(
        Dialect.ANTHROPIC, 429,
        anthropic("rate_limit_error", "This request would exceed your rate limit."),
        Kind.RATE_LIMIT, 45.0,
        {
            "retry-after": "12",
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "2026-11-30T12:00:45Z",
        },
    ),
    "anthropic a spend limit asks for no wait": Row(
        Dialect.ANTHROPIC, 429,
        anthropic("rate_limit_error", "Your workspace has reached its spend limit."), Kind.QUOTA,
    ),
    "anthropic a spend limit with a date": Row(
        Dialect.ANTHROPIC, 400,
        anthropic("invalid_request_error", "You have reached your specified API usage limits. You "
                  "will regain access on 2026-12-01 at 00:00 UTC."),
        Kind.QUOTA, 43_200.0,
    ),
    "anthropic credit": Row(
        Dialect.ANTHROPIC, 400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
        Kind.QUOTA,
    ),
    "anthropic overloaded": Row(
        Dialect.ANTHROPIC, 529, anthropic("overloaded_error", "Overloaded"), Kind.OVERLOADED
    ),
    "anthropic overloaded in a stream": Row(
        Dialect.ANTHROPIC, None, anthropic("overloaded_error", "Overloaded"), Kind.OVERLOADED
    ),
    "anthropic fault": Row(
        Dialect.ANTHROPIC, 500, anthropic("api_error", "Internal server error"), Kind.SERVER_ERROR
    ),
    "anthropic prompt": Row(
        Dialect.ANTHROPIC, 400,
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        Kind.CONTEXT_LENGTH,
    ),
    "anthropic prompt and answer": Row(
        Dialect.ANTHROPIC, 400,
        anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: "
                  "190000 + 20000 > 200000"),
        Kind.CONTEXT_LENGTH,
    ),
    "anthropic bytes": Row(
        Dialect.ANTHROPIC, 413, anthropic("request_too_large", "Request exceeds the maximum size"),
        Kind.CONTEXT_LENGTH,
    ),
    "anthropic a key": Row(
        Dialect.ANTHROPIC, 401, anthropic("authentication_error", "invalid x-api-key"), Kind.AUTH
    ),
    "anthropic a model": Row(
        Dialect.ANTHROPIC, 404, anthropic("not_found_error", "model: claude-9"), Kind.CONFIG
    ),
    "anthropic a time-out in a stream": Row(
        Dialect.ANTHROPIC, None, anthropic("timeout_error", "Request timed out"), Kind.TIMEOUT
    ),
    # Gemini, where it speaks OpenAI's language
    "gemini a minute": Row(
        Dialect.GEMINI, 429,
        gemini(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.",
               {"@type": QUOTA_FAILURE, "violations": [
                   {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
               {"@type": RETRY_INFO, "retryDelay": "34.074824224s"}),
        Kind.RATE_LIMIT, 34.074824224,
    ),
    "gemini a day": Row(
        Dialect.GEMINI, 429,
        gemini(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.",
               {"@type": QUOTA_FAILURE, "violations": [
                   {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}),
        Kind.QUOTA,
    ),
    "gemini a quota that never heals": Row(
        Dialect.GEMINI, 429,
        gemini(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: free_tier_requests, "
               "limit: 0", {"@type": RETRY_INFO, "retryDelay": "10s"}),
        Kind.CONFIG, 10.0,
    ),
    "gemini overloaded": Row(
        Dialect.GEMINI, 503, gemini(503, "UNAVAILABLE", "The model is overloaded."),
        Kind.OVERLOADED,
    ),
    "gemini a key, which it calls an argument": Row(
        Dialect.GEMINI, 400,
        gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        Kind.AUTH,
    ),
    "gemini context": Row(
        Dialect.GEMINI, 400,
        gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum "
               "number of tokens allowed (1048576)."),
        Kind.CONTEXT_LENGTH,
    ),
    "gemini an argument": Row(
        Dialect.GEMINI, 400, gemini(400, "INVALID_ARGUMENT", "Unknown field."), Kind.INVALID_INPUT
    ),
    # DashScope
    "dashscope a rate of tokens, by OpenAI's word for money": Row(
        Dialect.DASHSCOPE, 429,
        openai("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
        Kind.RATE_LIMIT,
    ),
    "dashscope a rate of requests": Row(
        Dialect.DASHSCOPE, 429,
        dashscope("Throttling.RateQuota", "Requests rate limit exceeded."), Kind.RATE_LIMIT,
    ),
    "dashscope a rate of tokens in a stream": Row(
        Dialect.DASHSCOPE, None,
        dashscope("Throttling.AllocationQuota", "Allocated quota exceeded."), Kind.RATE_LIMIT,
    ),
    "dashscope money": Row(
        Dialect.DASHSCOPE, 400, dashscope("Arrearage", "Access denied."), Kind.QUOTA
    ),
    "dashscope policy": Row(
        Dialect.DASHSCOPE, 400,
        openai("Input data may contain inappropriate content.", "data_inspection_failed",
               "data_inspection_failed"),
        Kind.CONTENT_POLICY,
    ),
    "dashscope policy, in its own language": Row(
        Dialect.DASHSCOPE, 400,
        dashscope("DataInspectionFailed", "Output data may contain inappropriate content."),
        Kind.CONTENT_POLICY,
    ),
    "dashscope context": Row(
        Dialect.DASHSCOPE, 400,
        openai("Range of input length should be [1, 30720]", "invalid_request_error",
               "invalid_parameter_error"),
        Kind.CONTEXT_LENGTH,
    ),
    "dashscope a model that was not bought": Row(
        Dialect.DASHSCOPE, 403,
        dashscope("AccessDenied.Unpurchased", "Access to model denied."), Kind.CONFIG,
    ),
    "dashscope fault": Row(
        Dialect.DASHSCOPE, 500, dashscope("InternalError.Algo", "An internal error."),
        Kind.SERVER_ERROR,
    ),
    # DeepSeek
    "deepseek money": Row(
        Dialect.DEEPSEEK, 402,
        openai("Insufficient Balance", "unknown_error", "invalid_request_error"), Kind.QUOTA,
    ),
    "deepseek a key": Row(
        Dialect.DEEPSEEK, 401,
        openai("Authentication Fails", "authentication_error", "invalid_request_error"), Kind.AUTH,
    ),
    "deepseek policy": Row(
        Dialect.DEEPSEEK, 400,
        openai("Content Exists Risk", "invalid_request_error", "invalid_request_error"),
        Kind.CONTENT_POLICY,
    ),
    "deepseek overloaded": Row(
        Dialect.DEEPSEEK, 503, openai("Service is too busy.", "service_unavailable", None),
        Kind.OVERLOADED,
    ),
    # vLLM
    "vllm context, as it was": Row(
        Dialect.OTHER, 400,
        {"object": "error", "message": "This model's maximum context length is 16384 tokens. "
         "However, you requested 122946 tokens.", "type": "BadRequestError", "param": None,
         "code": 400},
        Kind.CONTEXT_LENGTH,
    ),
    "vllm a model": Row(
        Dialect.OTHER, 404,
        {"error": {"message": "The model `x` does not exist.", "type": "NotFoundError",
                   "param": None, "code": 404}},
        Kind.CONFIG,
    ),
    "vllm max_tokens": Row(
        Dialect.OTHER, 400,
        {"object": "error", "message": "max_tokens must be at least 1, got -186.",
         "type": "BadRequestError", "param": None, "code": 400},
        Kind.INVALID_INPUT,
    ),
    "vllm shape": Row(
        Dialect.OTHER, 422, {"detail": [{"loc": ["body"], "msg": "field required"}]},
        Kind.INVALID_INPUT,
    ),
    # llama.cpp and llama-cpp-python
    "llama.cpp context": Row(
        Dialect.OTHER, 400,
        {"error": {"code": 400, "message": "request (4390 tokens) exceeds the available context "
                   "size (4096 tokens), try increasing it", "type": "exceed_context_size_error",
                   "n_prompt_tokens": 4390, "n_ctx": 4096}},
        Kind.CONTEXT_LENGTH,
    ),
    "llama.cpp context, as a fault": Row(
        Dialect.OTHER, 500,
        {"error": {"code": 500, "message": "Context size has been exceeded.",
                   "type": "server_error"}},
        Kind.CONTEXT_LENGTH,
    ),
    "llama-cpp-python context, as a fault": Row(
        Dialect.OTHER, 500,
        openai("Requested tokens (2285) exceed context window of 2048", "internal_server_error",
               None),
        Kind.CONTEXT_LENGTH,
    ),
    "llama-cpp-python knows no JSON Schema": Row(
        Dialect.OTHER, 500,
        openai("1 validation error:\n  {'type': 'literal_error', 'loc': ('body', "
               "'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}",
               "internal_server_error", None),
        Kind.SERVER_ERROR,
    ),
    "llama.cpp loads its model": Row(
        Dialect.OTHER, 503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        Kind.OVERLOADED,
    ),
    # Whoever stands before them
    "a proxy's page": Row(
        Dialect.OTHER, 502, "<html><h1>502 Bad Gateway</h1></html>", Kind.SERVER_ERROR
    ),
    "a proxy that waits for no longer": Row(Dialect.OTHER, 504, "", Kind.SERVER_ERROR),
    "a proxy's date": Row(
        Dialect.OTHER, 429, "", Kind.RATE_LIMIT, 90.0,
        {"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"},
    ),
    "a base_url that is not quite right": Row(
        Dialect.OTHER, 308, "", Kind.CONFIG, None, {"location": "https://there.example/v1"}
    ),
    "nothing that is known": Row(Dialect.OTHER, None, {"odd": True}, Kind.SERVER_ERROR),
}  # fmt: skip
