"""docs/wire.md is written from the contract, so it cannot say anything else."""

from pathlib import Path

from metering.usage import (
    BUCKETS_MAX,
    COUNT_MAX,
    LABELS_MAX,
    LEG_FIELDS,
    SAMPLE_FIELDS,
    TEXT_LENGTH_MAX,
)
from metering.wire import ARROW_TYPES, LEG_SCHEMA, SAMPLE_SCHEMA
from metering.wire_docs import ARROW_NAMES, with_tables


def read_page(root: Path) -> str:
    """The page as it is."""
    return (root / "docs" / "wire.md").read_text(encoding="utf-8")


def test_the_tables_are_the_contract(root: Path) -> None:
    """Write them anew with: python -m metering.wire_docs docs/wire.md."""
    assert read_page(root) == with_tables(read_page(root))


def test_the_page_states_the_bounds_in_force(root: Path) -> None:
    """metering.usage defines them."""
    assert COUNT_MAX == 10**12
    lengths = (f"{TEXT_LENGTH_MAX} characters", f"{LABELS_MAX} entries", f"{BUCKETS_MAX} bounds")
    for bound in (*lengths, "0..10^12"):
        assert bound in read_page(root)


def test_every_field_has_its_type(root: Path) -> None:
    """Each field of both records; types are those of the Arrow schema."""
    for field in (*LEG_FIELDS, *SAMPLE_FIELDS):
        assert f"`{field.name}`" in read_page(root)
    for schema, fields in ((LEG_SCHEMA, LEG_FIELDS), (SAMPLE_SCHEMA, SAMPLE_FIELDS)):
        for field in fields:
            kind = str(ARROW_TYPES[field.kind]).replace(" ('keys', 'items')", "")
            assert str(schema.field(field.name).type) == str(ARROW_TYPES[field.kind])
            assert kind == ARROW_NAMES[field.kind]
