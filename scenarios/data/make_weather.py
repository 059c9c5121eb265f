"""Write weather.csv: two years of hourly air temperatures, as a station in central Europe might have measured them.

The year, the day, and weather that comes and goes in three days: an autoregressive process of first order.
"""

from pathlib import Path

import numpy as np

HOURS = 2 * 8760
DAYS_OF_WEATHER = 3.0  # after which it has forgotten what it was

hours = np.arange(HOURS + 1)
days = hours / 24.0
year = 9.5 - 9.5 * np.cos(2 * np.pi * (days - 20.0) / 365.0)  # coldest on 20 January
day = (3.0 - 1.5 * np.cos(2 * np.pi * (days - 20.0) / 365.0)) * np.cos(2 * np.pi * (hours - 15.0) / 24.0)
keeps = np.exp(-1.0 / (24.0 * DAYS_OF_WEATHER))
pushes = np.random.default_rng(2026).normal(0.0, 3.5 * np.sqrt(1.0 - keeps**2), HOURS + 1)
weather = np.zeros(HOURS + 1)
for hour in range(1, HOURS + 1):
    weather[hour] = keeps * weather[hour - 1] + pushes[hour]
air = np.round(year + day + weather, 1)
rows = "".join(f"{hour},{temperature}\n" for hour, temperature in zip(hours, air, strict=True))
Path(__file__).with_name("weather.csv").write_text("time [h],air [degC]\n" + rows, encoding="utf-8")
