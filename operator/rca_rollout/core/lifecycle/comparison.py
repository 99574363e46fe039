"""Values of Prometheus against thresholds: exact, and shown with few digits that never say the contrary."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from rca_rollout.api.live import LiveCondition, Operator


def number(text: str) -> Decimal | None:
    """A value as Prometheus writes it; None for NaN, the infinities and what is no number."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def holds(value: Decimal, condition: LiveCondition) -> bool:
    """Exactly: no float is compared."""
    limit = condition.limit
    match condition.operator:
        case Operator.LESS_THAN:
            return value < limit
        case Operator.LESS_THAN_OR_EQUAL:
            return value <= limit
        case Operator.GREATER_THAN:
            return value > limit
        case Operator.GREATER_THAN_OR_EQUAL:
            return value >= limit


SIGN = {
    Operator.LESS_THAN: "<",
    Operator.LESS_THAN_OR_EQUAL: "<=",
    Operator.GREATER_THAN: ">",
    Operator.GREATER_THAN_OR_EQUAL: ">=",
}
CONTRARY = {
    Operator.LESS_THAN: ">=",
    Operator.LESS_THAN_OR_EQUAL: ">",
    Operator.GREATER_THAN: "<=",
    Operator.GREATER_THAN_OR_EQUAL: "<",
}


def show(value: Decimal) -> str:
    """Three significant digits, whole numbers whole: `0.312`, `12.3`, `48211`, `1.20e-9`."""
    size = value.adjusted()
    if value == 0:
        return "0"
    if not -6 <= size <= 14:
        return f"{value:.2e}".replace("e+", "e")
    if value == value.to_integral_value() or size >= 3:
        return f"{value:.0f}"
    text = f"{value:.{max(0, 2 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def misleading(value: Decimal, condition: LiveCondition) -> bool:
    """Whether the shown digits would hold where the value does not."""
    return holds(Decimal(show(value)), condition)
