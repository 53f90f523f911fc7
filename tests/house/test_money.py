"""Money and counts: exact from the first byte to the last (V5)."""

import ast
import re

from tests.house.tree import FILES, ROOT, SOURCES, TESTS, Source, require_none

# Files that hold money. A ratio, a rate or a time may be a float elsewhere.
MONEY = (
    "pricing/money.py",
    "pricing/price_book.py",
    "pricing/price_key.py",
    "pricing/price_grid.py",
    "pricing/rating.py",
    "pricing/revenue.py",
    "pricing/chargeback.py",
    "pricing/attribution.py",
    "pricing/adjustments.py",
    "pricing/invoices.py",
    "pricing/books/",
    "pricing/runs/",
)
# These divide Fractions, which are exact, and settle the remainder once.
DIVIDE_EXACTLY = {"pricing/attribution.py", "pricing/revenue.py"}
DF = re.compile(r"\.df\(\)")
FLOAT_SQL = re.compile(r"\b(DOUBLE|FLOAT|REAL)\b|(?<![\w.])\d+(\.\d+)?e-?\d+", re.IGNORECASE)


def holds_money(path: str) -> bool:
    """Whether `path` is a file of the money path."""
    return path.startswith(MONEY)


def divisions(source: Source) -> list[ast.BinOp]:
    """Divisions by anything but a named constant or a literal power of ten."""
    return [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and not re.fullmatch(r"[\w.]*[A-Z_]{3,}|1?0*_?0*|10 \*\* \d+", ast.unparse(node.right))
        and not is_a_path(node)
    ]


def not_money(source: Source) -> set[ast.AST]:
    """Values of constants named …_SECONDS, and of cutoff=, which says how alike spellings are."""
    return {
        node.value
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.keyword) and node.arg == "cutoff")
        or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target).endswith("_SECONDS"))
        if node.value is not None
    }


def is_a_path(node: ast.BinOp) -> bool:
    """Whether `/` joins a pathlib path, not two numbers."""
    return isinstance(node.right, ast.Constant | ast.JoinedStr) and not isinstance(
        getattr(node.right, "value", ""), int | float
    )


def test_no_data_frame_from_duckdb() -> None:
    """`.df()` turns sums and decimals into float64 (9007199254740995 became …996)."""
    offences = [
        f"{source.path}:{number}"
        for source in (*SOURCES, *TESTS)
        if source.path != "tests/house/test_money.py"
        for number, line in enumerate(source.text.splitlines(), 1)
        if DF.search(line)
    ]
    require_none(offences, "Use fetchall() or Arrow with types_mapper=pd.ArrowDtype:")


def test_no_float_where_money_is() -> None:
    """No float() call, annotation or literal, but for constants in seconds and for difflib."""
    offences = [
        f"{source.at(node)} {ast.unparse(node)}"
        for source in SOURCES
        if holds_money(source.path)
        for node in set(ast.walk(source.tree)) - not_money(source)
        if (isinstance(node, ast.Name) and node.id == "float")
        or (isinstance(node, ast.Constant) and isinstance(node.value, float))
    ]
    require_none(
        offences,
        "Money is Decimal made from text or int; a rate or ratio belongs in another file:",
    )


def test_no_division_where_money_is() -> None:
    """Only by a power of ten: anything else drops digits (V5)."""
    offences = [
        f"{source.at(node)} {ast.unparse(node)}"
        for source in SOURCES
        if holds_money(source.path) and source.path not in DIVIDE_EXACTLY
        for node in divisions(source)
    ]
    require_none(offences, "Multiply by the exact reciprocal, or keep a Fraction to the end:")


def test_no_float_in_the_sql_of_money() -> None:
    """DOUBLE, FLOAT, 2e-6 and DECIMAL ÷ x are floats in DuckDB."""
    offences = [
        f"{path}:{number} {line.strip()}"
        for path in FILES
        if path.startswith("pricing/") and path.endswith(".sql")
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if FLOAT_SQL.search(code := line.partition("--")[0])
        and not re.search(r"seconds|ratio", code)
    ]
    require_none(offences, "Cast to DECIMAL(18, 9) and multiply by 0.000001::DECIMAL(7, 6):")
