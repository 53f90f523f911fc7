"""A script for AppTest: the heat map of one registered server that earned nothing."""

from dashboard.heat_map import heat_map
from dashboard.palette import palette
from tests.dashboard.test_heat_map import PAGE

PAGE.palette = palette("light")
heat_map(PAGE, [{"node_id": "p01"}], [], {}, None)
