"""Colours that stand side by side are told apart, also with a colour vision deficiency.

Simulation: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", IEEE TVCG 15 (2009), the published matrices of severity 1.0, for linear sRGB.
Difference: CIEDE2000 under D65, as in Sharma, Wu and Dalal, Color Research and Application 30
(2005), whose test data it is held against. Contrast: WCAG 2.2.
"""

from itertools import product
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

import pytest

from dashboard.palette import DARK, LIGHT

APART = 10  # ΔE00; about 1 can just be seen
CONTRAST = 3  # WCAG 1.4.11, of what must be seen to understand
PALETTES = {"light": LIGHT, "dark": DARK}
EYES = {
    "common": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
NEIGHBOURS = (
    ("uncached", "cached"), ("cached", "output"),  # stacked bars, a server's day, revenue by line
    ("uncached", "output"),  # servers: prefill and decode
    ("accent", "cost"),  # the two curves of the hit ratio
    ("accent", "risk"),  # cash flows
    ("rule", "accent"), ("rule", "risk"),  # ends of the heat map, and its strokes
)  # fmt: skip
MARKS = ("accent", "uncached", "cached", "output", "cost", "risk")
SRGB = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
D65 = (0.95047, 1.0, 1.08883)


def linear(colour):
    """#RRGGBB as linear sRGB."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, vector):
    """Their product."""
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour, eyes="common"):
    """CIELAB of the colour as such eyes see it."""
    seen = [min(max(part, 0), 1) for part in times(EYES[eyes], linear(colour))]
    ratios = (part / white for part, white in zip(times(SRGB, seen), D65, strict=True))
    x, y, z = (r ** (1 / 3) if r > 216 / 24389 else (24389 / 27 * r + 16) / 116 for r in ratios)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000 of two colours in CIELAB."""
    mean = (hypot(*one[1:]) + hypot(*other[1:])) / 2
    stretch = 1 + 0.5 * (1 - sqrt(mean**7 / (mean**7 + 25**7)))
    (l1, c1, h1), (l2, c2, h2) = (
        (bright, hypot(a * stretch, b), degrees(atan2(b, a * stretch)) % 360)
        for bright, a, b in (one, other)
    )
    turn = (h2 - h1 + 180) % 360 - 180
    light, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, (h1 + turn / 2) % 360
    hue_weight = 1 - 0.17 * cos(radians(hue - 30)) + 0.24 * cos(radians(2 * hue))
    hue_weight += 0.32 * cos(radians(3 * hue + 6)) - 0.2 * cos(radians(4 * hue - 63))
    bright = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / sqrt(20 + (light - 50) ** 2))
    pure = (c2 - c1) / (1 + 0.045 * chroma)
    turned = 2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / (1 + 0.015 * chroma * hue_weight)
    blue = sin(radians(60 * exp(-(((hue - 275) / 25) ** 2))))
    blue *= 2 * sqrt(chroma**7 / (chroma**7 + 25**7))
    return sqrt(bright**2 + pure**2 + turned**2 - blue * pure * turned)


def contrast(one, other):
    """The contrast ratio of WCAG."""
    dark, bright = sorted(times(SRGB, linear(colour))[1] for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("one", "other", "right"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (61, -5, 29), 22.8977),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ],
)
def test_the_difference_is_the_published_one(one, other, right):
    """Pairs 1, 17, 18 and 30 of the test data of Sharma, Wu and Dalal (2005)."""
    assert difference(one, other) == pytest.approx(right, abs=0.0001)


@pytest.mark.parametrize(("name", "eyes"), list(product(PALETTES, EYES)))
def test_neighbours_are_told_apart(name, eyes):
    """Each pair that meets in a chart, by common eyes and with each of the three deficiencies."""
    colours = {
        part: lab(getattr(PALETTES[name], part), eyes) for pair in NEIGHBOURS for part in pair
    }
    apart = {pair: difference(*(colours[part] for part in pair)) for pair in NEIGHBOURS}
    assert {pair: found for pair, found in apart.items() if found < APART} == {}


@pytest.mark.parametrize("name", PALETTES)
def test_marks_stand_out_from_the_page(name):
    """A mark that cannot be seen says nothing."""
    found = {
        mark: contrast(getattr(PALETTES[name], mark), PALETTES[name].background) for mark in MARKS
    }
    assert min(found.values()) >= CONTRAST, found
