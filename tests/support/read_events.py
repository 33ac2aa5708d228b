"""Prints what TensorBoard's own reader finds in a folder of event files, as one line for each
scalar and histogram: read_events.py FOLDER."""
import sys

from tensorboard.backend.event_processing.event_accumulator import (
    HISTOGRAMS,
    SCALARS,
    EventAccumulator,
)

events = EventAccumulator(sys.argv[1], size_guidance={SCALARS: 0, HISTOGRAMS: 0})
events.Reload()
print("version", events.file_version, "first", events.FirstEventTimestamp())
for tag in sorted(events.Tags()["scalars"]):
    for e in events.Scalars(tag):
        print("scalar", tag, e.step, repr(e.value), e.wall_time)
for tag in sorted(events.Tags()["histograms"]):
    for e in events.Histograms(tag):
        h = e.histogram_value
        print("histogram", tag, e.step, h.min, h.max, h.num, h.sum, h.sum_squares, end=" ")
        print(*[f"{limit!r}:{count!r}" for limit, count in zip(h.bucket_limit, h.bucket) if count])
