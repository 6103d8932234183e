"""Settings of a request (catalogue, section 2.1), of OpenAI and of the dialects."""

from __future__ import annotations

from headrace.canonical.fields import BOOL, DOUBLE, LONG, OBJECT, ONE_TEXT, TEXTS, Field, Kind, Other, Table

#: A switch that the model names by words.
_ENABLED = Kind(
    lambda value: type(value) is bool,
    lambda value: "enabled" if value else "disabled",
    lambda mode: mode == "enabled",
)

#: Settings with a field of their own; dialects' names for the same come after OpenAI's.
_NAMED = (
    Field("temperature", "temperature", DOUBLE),
    Field("top_p", "top_p", DOUBLE),
    Field("top_k", "top_k", DOUBLE),
    Field("max_completion_tokens", "max_output_tokens", LONG),
    Field("max_tokens", "max_output_tokens", LONG),
    Field("n", "n", LONG),
    Field("seed", "seed", LONG),
    Field("random_seed", "seed", LONG),
    Field("stop", "stop", TEXTS, also=ONE_TEXT),
    Field("presence_penalty", "presence_penalty", DOUBLE),
    Field("frequency_penalty", "frequency_penalty", DOUBLE),
    Field("logprobs", "logprobs", BOOL),
    Field("top_logprobs", "top_logprobs", LONG),
    Field("stream", "stream", BOOL),
    Field("stream_options", "stream_options", OBJECT),
    Field("parallel_tool_calls", "parallel_tool_calls", BOOL),
    Field("store", "store", BOOL),
    Field("response_format", "response_format", OBJECT),
    Field("modalities", "modalities", TEXTS),
    Field("reasoning_effort", "reasoning_effort"),
    Field("reasoning.effort", "reasoning_effort"),
    Field("reasoning.summary", "reasoning_summary"),
    Field("reasoning.max_tokens", "reasoning_budget", LONG),
    Field("thinking.budget_tokens", "reasoning_budget", LONG),
    Field("thinking_budget", "reasoning_budget", LONG),
    Field("extra_body.google.thinking_config.thinking_budget", "reasoning_budget", LONG),
    Field("thinking.type", "reasoning_mode"),
    Field("enable_thinking", "reasoning_mode", _ENABLED),
    Field("reasoning.enabled", "reasoning_mode", _ENABLED),
    Field("verbosity", "verbosity"),
    Field("service_tier", "service_tier"),
    Field("user", "user"),
    Field("safety_identifier", "safety_identifier"),
    Field("prompt_cache_key", "cache_key"),
    Field("extra_body.google.cached_content", "cached_content"),
)

#: Known settings without one, by who has them.
_OTHER = {
    "OpenAI, Azure": """
        logit_bias audio prediction web_search_options moderation prompt_cache_options prompt_cache_retention
        data_sources user_security_context""",
    "OpenRouter": """
        reasoning.exclude include_reasoning provider models route transforms plugins preset usage session_id trace
        min_p top_a repetition_penalty structured_outputs image_config debug""",
    "Groq, Cerebras": """
        reasoning_format search_settings documents citation_options compound_custom disable_tool_validation
        exclude_domains include_domains clear_thinking disable_reasoning min_completion_tokens""",
    "Mistral": "safe_prompt prompt_mode guardrails",
    "xAI": "search_parameters deferred",
    "Alibaba, Moonshot, z.ai": """
        enable_search search_options incremental_output result_format translation_options vl_high_resolution_images
        thinking.clear_thinking tool_stream do_sample request_id user_id""",
    "vLLM, SGLang, Together": """
        guided_json guided_regex guided_choice guided_grammar guided_decoding_backend best_of use_beam_search
        length_penalty min_tokens stop_token_ids ignore_eos skip_special_tokens spaces_between_special_tokens echo
        add_generation_prompt continue_final_message chat_template chat_template_kwargs add_special_tokens
        kv_transfer_params mm_processor_kwargs priority return_tokens_as_token_ids return_token_ids bad_words
        truncate_prompt_tokens prompt_logprobs allowed_token_ids include_stop_str_in_output cache_salt
        logits_processors separate_reasoning safety_model context_length_exceeded_behavior prompt_truncate_len""",
    "Ollama": "options keep_alive format think",
    "Perplexity": """
        search_mode search_domain_filter search_recency_filter search_after_date_filter search_before_date_filter
        return_images return_related_questions disable_search last_updated_after_filter last_updated_before_filter""",
    "Google's compatible endpoint": """
        extra_body.google.thinking_config.include_thoughts extra_body.google.thinking_config.thinking_level
        extra_body.google.safety_settings""",
}

BODY = Table(
    Field("model", "model"),
    Field("metadata", "metadata", OBJECT),
    *(Field(entry.wire, f"parameters.{entry.name}", entry.kind, entry.also) for entry in _NAMED),
    *(Other(key, "parameters.other") for keys in _OTHER.values() for key in keys.split()),
)
