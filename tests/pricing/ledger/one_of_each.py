"""A ledger with a row in every table, made by the repositories themselves."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from metering.windows import Window
from pricing.close_checks import Acceptance
from pricing.invoices import Digest, InvoiceLine
from pricing.ledger.closes import begin
from pricing.ledger.cost_centres import Assignment, CostCentre, add_cost_centre, assign
from pricing.ledger.decisions import decide
from pricing.ledger.disputes import Asked, open_dispute
from pricing.ledger.documents import keep_document
from pricing.ledger.idempotency import Answer, remember
from pricing.ledger.invoices import Contents, issue_invoice, make_invoice
from pricing.ledger.issuers import BillingProfile, put_profile
from pricing.ledger.job_runs import claim
from pricing.ledger.keys import NewKey, create_key
from pricing.ledger.policies import add_policy
from pricing.ledger.price_books import add_revision
from pricing.ledger.projects import Project, add_project
from pricing.ledger.rerates import add_rerate
from pricing.ledger.roi_cases import add_case
from pricing.ledger.servers import Server, add_server
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant, get_tenant
from pricing.ledger.usage_keys import UsageKey, add_usage_key
from pricing.scope import Role, Scope

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
TENANT = {"tenant_id": "t-alder"}


def fill(ledger):
    """Write one of everything."""
    with ledger.write(actor="test", at=NOW) as change:
        add_tenant(
            change,
            Tenant(**TENANT, name="Alder", billing_zone="UTC", currency="CNY", created_at=NOW),
        )
        add_project(change, Project(**TENANT, project_id="search", name="Search", created_at=NOW))
        add_usage_key(
            change, UsageKey(**TENANT, api_key_id="sk-1", project_id="search", created_at=NOW)
        )
        add_cost_centre(
            change, CostCentre(**TENANT, cost_centre_id="4711", name="R&D", created_at=NOW)
        )
        assign(
            change,
            Assignment(
                **TENANT,
                assignment_id="a1",
                project_id="search",
                cost_centre_id="4711",
                from_at=NOW,
            ),
        )
        _fill_the_rest(change)


def _fill_the_rest(change):
    create_key(change, NewKey(name="mine", role=Role.TENANT, **TENANT, scopes=("usage:read",)))
    add_revision(change, "list", toml_text="…", currency="CNY", state=BookState.PUBLISHED)
    add_server(
        change,
        Server(
            node_id="p01",
            name="p01",
            stage="prefill",
            rated_tokens_per_second=Decimal("83670.6"),
            in_service_from=NOW,
            in_service_until=NOW + timedelta(days=1),
            cost_assumptions={"currency": "CNY", "monthly": {"hosting": "6400"}},
            instance_id="glm-a",
            instance_weight=Decimal("0.5"),
        ),
    )
    add_policy(change, "undelivered = 'bill_input'", effective_from=NOW)
    add_case(change, "base", currency="CNY", stated={"months": 60}, note="as offered")
    claim(change, "export", period="2026-09", owner="host:1")
    _fill_the_close(change)
    decide(change, "f1", decision="accepted", reason="known", tenant_id="t-alder")
    remember(change, "k1", request_sha256="00", answer=Answer(201, {"id": "x"}))


def _fill_the_close(change):
    put_profile(change, BillingProfile(**TENANT, tax_rate=Decimal("0.06")))
    begun = begin(
        change,
        "t-alder",
        month=date(2026, 9, 1),
        settle_mark=7,
        accepted=Acceptance(names=frozenset({"node:p01"}), reason="broken"),
    )
    line = InvoiceLine(
        kind="usage",
        service_month=date(2026, 9, 1),
        amount=Decimal("1.004"),
        rounded_amount=Decimal("1.00"),
    )
    made = make_invoice(
        change,
        Contents(
            tenant=get_tenant(change.connection, Scope.house(), "t-alder"),
            window=Window(datetime(2026, 9, 1, tzinfo=UTC), NOW),
            currency="CNY",
            begun=begun,
            lines=[line],
            annex=[],
            digest=Digest(requests=1, words=(1, 2, 3, 2**70)),
        ),
    )
    issue_invoice(change, made.number)
    add_rerate(
        change, date(2026, 9, 1), tenants=None, reason="list was late", catalogue_id="list@2"
    )
    keep_document(
        change, "house", number=made.number, format_="pdf", media_type="application/pdf", body=b"%"
    )
    asked = Asked(number=made.number, position=1, amount=Decimal("0.50"), reason="outage")
    open_dispute(change, Scope.house(), asked, dispute_id=UUID(int=1))
