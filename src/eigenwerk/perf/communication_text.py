"""What `eigenwerk perf communication` says, as plain lines."""

from collections.abc import Sequence

from eigenwerk.perf.communication import Communication, FunctionUse, travelled
from eigenwerk.perf.run_trace import RankTrace, RunTrace
from eigenwerk.perf.tables import bar, gigabytes_per_second, percent, seconds, size, spread, table
from eigenwerk.record.traffic import TRAVEL
from eigenwerk.shown import counted

MANY_RANKS = 16
"""Above this number of ranks the tables by rank and by pair of ranks are left to the picture and to --json."""

BAR = 20
"""Length of the longest bar of #."""


def communication_lines(found: Communication) -> list[str]:
    """The whole report."""
    lines = heading(found.run)
    if not found.functions:
        why = ": one rank alone" if len(found.run.ranks) == 1 else ""
        return [*lines, "", f"No communication was recorded{why}."]
    parts = [_summary(found), _top(found), _functions(found), _sizes(found), _ranks(found), _pairs(found)]
    return [*lines, *(line for part in parts if part for line in ("", *part))]


def heading(run: RunTrace) -> list[str]:
    """Which run this is and where it ran."""
    system = str(run.about.get("system", "")).strip()
    grid = f"{counted(run.groups, 'k-group')} x {counted(run.band_ranks, 'band rank')}"
    return [
        f"{run.path.parent if run.path.parent.name else run.path}{': ' + system if system else ''}",
        f"  {counted(len(run.ranks), 'rank')}: {grid}, {counted(run.ranks[0].threads, 'thread')} each",
        f"  {places(run.ranks)}",
    ]


def places(ranks: Sequence[RankTrace]) -> str:
    """Hosts and devices, each once with its count."""
    hosts = list(dict.fromkeys(rank.host for rank in ranks))
    models = [device_model(rank.device) for rank in ranks]
    devices = ", ".join(f"{models.count(model)} x {model}" for model in dict.fromkeys(models))
    return f"on {', '.join(hosts) if len(hosts) <= 4 else counted(len(hosts), 'host')}: {devices}"


def device_model(device: str) -> str:
    """The name of a GPU without its own number, which stands last."""
    return device.split(" GPU-")[0]


def _summary(found: Communication) -> list[str]:
    moving_p = found.held_p - found.wait_p
    rows = [
        ("elapsed", *spread(found.elapsed_p), ""),
        ("work", *spread(found.work_p), percent(float((found.work_p / found.elapsed_p).mean()))),
        ("communication", *spread(found.held_p), percent(found.share)),
        ("  waiting for other ranks", *spread(found.wait_p), percent(float((found.wait_p / found.elapsed_p).mean()))),
        ("  moving data", *spread(moving_p), percent(float((moving_p / found.elapsed_p).mean()))),
    ]
    busiest = int(found.work_p.argmax())
    lines = table(("seconds of a rank", "min", "mean", "max", "share"), rows)
    lines += _travel(found.run)
    if len(found.run.ranks) > 1:
        lines.append(f"  imbalance: rank {busiest} works {percent(found.imbalance)} longer than the mean")
    return lines


def _travel(run: RunTrace) -> list[str]:
    """What went on beside the work of exact exchange."""
    way = travelled(run)
    if way is None:
        return []
    mean, share = way
    return [f"  {TRAVEL} on their way to exact exchange: {seconds(mean)} s of a rank, {percent(share)} hidden by work"]


def _name(use: FunctionUse) -> str:
    verb, group, transport = use.function
    return f"{verb} over {group} ({transport})"


def _top(found: Communication) -> list[str]:
    lines = ["The top five"]
    elapsed = float(found.elapsed_p.mean())
    for place, use in enumerate(found.top, start=1):
        waits = "" if use.waiting is None else f", of that {seconds(use.waiting)} s waiting"
        share = f"{percent(use.seconds / elapsed)} of elapsed"
        lines.append(f"  {place}. {_name(use)}: {seconds(use.seconds)} s, {share}{waits}")
    return lines


def _functions(found: Communication) -> list[str]:
    rows = []
    for use in found.functions:
        low, mean, high = spread(use.second_p)
        rows.append((
            *use.function, f"{use.calls:.0f}", size(use.message), size(float(use.byte_p.sum())), low, mean, high,
            seconds(use.waiting), gigabytes_per_second(use.rate),
        ))  # fmt: skip
    head = ("verb", "group", "by", "calls", "mean size", "all bytes", "min s", "mean s", "max s", "waiting s", "GB/s")
    clock = "; seconds by the device's clock" if any(use.on_device for use in found.functions) else ""
    words = f"calls of a rank, bytes of all ranks, GB/s of a rank without waiting{clock}"
    return [f"By function ({words})", *table(head, rows, 3)]


def _sizes(found: Communication) -> list[str]:
    calls, total = sum(entry.calls for entry in found.sizes), sum(entry.seconds for entry in found.sizes)
    rows = [
        (
            size(entry.from_bytes), f"below {size(max(2 * entry.from_bytes, 1))}", str(entry.calls), size(entry.bytes),
            seconds(entry.seconds), gigabytes_per_second(entry.rate), bar(entry.calls / calls, BAR).ljust(BAR),
            bar(entry.seconds / total if total else 0.0, BAR).ljust(BAR),
        )
        for entry in found.sizes
        if entry.calls
    ]  # fmt: skip
    head = ("from", "", "calls", "bytes", "seconds", "GB/s", "calls".ljust(BAR), "seconds".ljust(BAR))
    return ["Sizes of messages (all ranks; GB/s with waiting)", *table(head, rows, 0)]


def _ranks(found: Communication) -> list[str]:
    run = found.run
    if not 1 < len(run.ranks) <= MANY_RANKS:
        return []
    rows = [
        (
            str(rank.rank), str(rank.rank // run.band_ranks), rank.host, seconds(found.elapsed_p[rank.rank]),
            seconds(found.work_p[rank.rank]), seconds(found.held_p[rank.rank]), seconds(found.wait_p[rank.rank]),
            percent(found.held_p[rank.rank] / found.elapsed_p[rank.rank]),
        )
        for rank in run.ranks
    ]  # fmt: skip
    head = ("rank", "k-group", "host", "elapsed", "work", "comm.", "waiting", "share")
    return ["By rank (seconds)", *table(head, rows, 0)]


def _pairs(found: Communication) -> list[str]:
    ranks = range(len(found.run.ranks))
    if not found.call_pp.any() or len(ranks) > MANY_RANKS:
        return []
    rows = [
        (f"from {row}", *(size(float(found.sent_pp[row, to])) if found.call_pp[row, to] else "-" for to in ranks))
        for row in ranks
    ]
    head = ("", *(f"to {rank}" for rank in ranks))
    return ["Bytes from rank to rank (all-to-all, exchange and point-to-point)", *table(head, rows)]
