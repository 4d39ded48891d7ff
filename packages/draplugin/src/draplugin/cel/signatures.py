"""The functions an expression may call: a table per library, one line per variant.

A line is `id receiver.name(arguments) result`, without a receiver for a global function. Capital
letters are type parameters. Ids are those of cel-go and Kubernetes, since costs depend on them.
Sources: cel-go common/stdlib, cel/library.go and ext at v0.29; k8s.io/apiserver/pkg/cel/library
at v0.37.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from . import types
from .types import Type

_COMPARED = (
    "bool bool bool",
    "int64 int int",
    "int64_double int double",
    "int64_uint64 int uint",
    "uint64 uint uint",
    "uint64_double uint double",
    "uint64_int64 uint int",
    "double double double",
    "double_int64 double int",
    "double_uint64 double uint",
    "string string string",
    "bytes bytes bytes",
    "timestamp timestamp timestamp",
    "duration duration duration",
)
_ORDERS = {"less": "_<_", "less_equals": "_<=_", "greater": "_>_", "greater_equals": "_>=_"}
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUNTIME_NAMES = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
}
_CALENDAR = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}
_OF_DURATION = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")


def _orders() -> str:
    rows = (row.split() for row in _COMPARED)
    return "\n".join(
        f"{order}_{suffix} {name}({left}, {right}) bool"
        for suffix, left, right in rows
        for order, name in _ORDERS.items()
    )


def _calendar() -> str:
    lines = []
    for name, part in _CALENDAR.items():
        lines.append(f"timestamp_to_{part} timestamp.{name}() int")
        lines.append(f"timestamp_to_{part}_with_tz timestamp.{name}(string) int")
        if name in _OF_DURATION:
            lines.append(f"duration_to_{part} duration.{name}() int")
    return "\n".join(lines)


STANDARD = f"""
conditional _?_:_(bool, A, A) A
logical_and _&&_(bool, bool) bool
logical_or _||_(bool, bool) bool
logical_not !_(bool) bool
not_strictly_false @not_strictly_false(bool) bool
equals _==_(A, A) bool
not_equals _!=_(A, A) bool
add_bytes _+_(bytes, bytes) bytes
add_double _+_(double, double) double
add_duration_duration _+_(duration, duration) duration
add_duration_timestamp _+_(duration, timestamp) timestamp
add_timestamp_duration _+_(timestamp, duration) timestamp
add_int64 _+_(int, int) int
add_list _+_(list(A), list(A)) list(A)
add_string _+_(string, string) string
add_uint64 _+_(uint, uint) uint
divide_double _/_(double, double) double
divide_int64 _/_(int, int) int
divide_uint64 _/_(uint, uint) uint
modulo_int64 _%_(int, int) int
modulo_uint64 _%_(uint, uint) uint
multiply_double _*_(double, double) double
multiply_int64 _*_(int, int) int
multiply_uint64 _*_(uint, uint) uint
negate_double -_(double) double
negate_int64 -_(int) int
subtract_double _-_(double, double) double
subtract_duration_duration _-_(duration, duration) duration
subtract_int64 _-_(int, int) int
subtract_timestamp_duration _-_(timestamp, duration) timestamp
subtract_timestamp_timestamp _-_(timestamp, timestamp) duration
subtract_uint64 _-_(uint, uint) uint
{_orders()}
index_list _[_](list(A), int) A
index_map _[_](map(A, B), A) B
in_list @in(A, list(A)) bool
in_map @in(A, map(A, B)) bool
size_bytes size(bytes) int
bytes_size bytes.size() int
size_list size(list(A)) int
list_size list(A).size() int
size_map size(map(A, B)) int
map_size map(A, B).size() int
size_string size(string) int
string_size string.size() int
type type(A) type(A)
bool_to_bool bool(bool) bool
string_to_bool bool(string) bool
bytes_to_bytes bytes(bytes) bytes
string_to_bytes bytes(string) bytes
double_to_double double(double) double
int64_to_double double(int) double
string_to_double double(string) double
uint64_to_double double(uint) double
duration_to_duration duration(duration) duration
string_to_duration duration(string) duration
to_dyn dyn(A) dyn
int64_to_int64 int(int) int
double_to_int64 int(double) int
duration_to_int64 int(duration) int
string_to_int64 int(string) int
timestamp_to_int64 int(timestamp) int
uint64_to_int64 int(uint) int
string_to_string string(string) string
bool_to_string string(bool) string
bytes_to_string string(bytes) string
double_to_string string(double) string
duration_to_string string(duration) string
int64_to_string string(int) string
timestamp_to_string string(timestamp) string
uint64_to_string string(uint) string
timestamp_to_timestamp timestamp(timestamp) timestamp
int64_to_timestamp timestamp(int) timestamp
string_to_timestamp timestamp(string) timestamp
uint64_to_uint64 uint(uint) uint
double_to_uint64 uint(double) uint
int64_to_uint64 uint(int) uint
string_to_uint64 uint(string) uint
contains_string string.contains(string) bool
ends_with_string string.endsWith(string) bool
starts_with_string string.startsWith(string) bool
matches matches(string, string) bool
matches_string string.matches(string) bool
{_calendar()}
"""

OPTIONALS = """
optional_of optional.of(V) optional(V)
optional_ofNonZeroValue optional.ofNonZeroValue(V) optional(V)
optional_none optional.none() optional(V)
optional_value optional(V).value() V
optional_hasValue optional(V).hasValue() bool
optional_or_optional optional(V).or(optional(V)) optional(V)
optional_orValue_value optional(V).orValue(V) V
select_optional_field _?._(dyn, string) optional(V)
list_optindex_optional_int _[?_](list(V), int) optional(V)
optional_list_optindex_optional_int _[?_](optional(list(V)), int) optional(V)
map_optindex_optional_value _[?_](map(K, V), K) optional(V)
optional_map_optindex_optional_value _[?_](optional(map(K, V)), K) optional(V)
optional_list_index_int _[_](optional(list(V)), int) optional(V)
optional_map_index_value _[_](optional(map(K, V)), K) optional(V)
list_last list(V).last() optional(V)
list_first list(V).first() optional(V)
optional_unwrap optional.unwrap(list(optional(V))) list(V)
optional_unwrapOpt list(optional(V)).unwrapOpt() list(V)
"""

STRINGS = """
string_char_at_int string.charAt(int) string
string_index_of_string string.indexOf(string) int
string_index_of_string_int string.indexOf(string, int) int
string_last_index_of_string string.lastIndexOf(string) int
string_last_index_of_string_int string.lastIndexOf(string, int) int
string_lower_ascii string.lowerAscii() string
string_replace_string_string string.replace(string, string) string
string_replace_string_string_int string.replace(string, string, int) string
string_split_string string.split(string) list(string)
string_split_string_int string.split(string, int) list(string)
string_substring_int string.substring(int) string
string_substring_int_int string.substring(int, int) string
string_trim string.trim() string
string_upper_ascii string.upperAscii() string
string_format string.format(list(dyn)) string
strings_quote strings.quote(string) string
list_join list(string).join() string
list_join_string list(string).join(string) string
"""

SETS = """
list_sets_contains_list sets.contains(list(T), list(T)) bool
list_sets_equivalent_list sets.equivalent(list(T), list(T)) bool
list_sets_intersects_list sets.intersects(list(T), list(T)) bool
"""

MAP_INSERT = """
@mapInsert_map_key_value cel.@mapInsert(map(K, V), K, V) map(K, V)
@mapInsert_map_map cel.@mapInsert(map(K, V), map(K, V)) map(K, V)
"""


def _per_comparable(line: str) -> str:
    return "\n".join(line.format(t=t, n=_RUNTIME_NAMES.get(t, t)) for t in _COMPARABLE)


LISTS = f"""
list_slice list(T).slice(int, int) list(T)
list_flatten list(list(T)).flatten() list(T)
list_flatten_int list(dyn).flatten(int) list(dyn)
{_per_comparable("list_{n}_sort list({t}).sort() list({t})")}
{_per_comparable("list_{n}_sortByAssociatedKeys list(T).@sortByAssociatedKeys(list({t})) list(T)")}
lists_range lists.range(int) list(int)
list_reverse list(T).reverse() list(T)
list_distinct list(T).distinct() list(T)
"""

KUBERNETES_LISTS = f"""
{_per_comparable("list_{t}_is_sorted_bool list({t}).isSorted() bool")}
{_per_comparable("list_{t}_max_{t} list({t}).max() {t}")}
{_per_comparable("list_{t}_min_{t} list({t}).min() {t}")}
list_int_sum_int list(int).sum() int
list_uint_sum_uint list(uint).sum() uint
list_double_sum_double list(double).sum() double
list_duration_sum_duration list(duration).sum() duration
list_a_index_of_int list(A).indexOf(A) int
list_a_last_index_of_int list(A).lastIndexOf(A) int
"""

INCLUDES = "list_includes_dyn_dyn dyn.includes(dyn) bool"

QUANTITIES = """
string_to_quantity quantity(string) Quantity
is_quantity_string isQuantity(string) bool
quantity_sign sign(Quantity) int
quantity_is_greater_than Quantity.isGreaterThan(Quantity) bool
quantity_is_less_than Quantity.isLessThan(Quantity) bool
quantity_compare_to Quantity.compareTo(Quantity) int
quantity_get_float Quantity.asApproximateFloat() double
quantity_get_int Quantity.asInteger() int
quantity_is_integer Quantity.isInteger() bool
quantity_add Quantity.add(Quantity) Quantity
quantity_add_int Quantity.add(int) Quantity
quantity_sub Quantity.sub(Quantity) Quantity
quantity_sub_int Quantity.sub(int) Quantity
"""

VERSIONS = """
string_to_semver semver(string) Semver
is_semver_string isSemver(string) bool
semver_is_greater_than Semver.isGreaterThan(Semver) bool
semver_is_less_than Semver.isLessThan(Semver) bool
semver_compare_to Semver.compareTo(Semver) int
semver_major Semver.major() int
semver_minor Semver.minor() int
semver_patch Semver.patch() int
"""

TOLERANT_VERSIONS = """
string_bool_to_semver semver(string, bool) Semver
is_semver_string_bool isSemver(string, bool) bool
"""

REGEX = """
string_find_string string.find(string) string
string_find_all_string string.findAll(string) list(string)
string_find_all_string_int string.findAll(string, int) list(string)
"""

URLS = """
string_to_url url(string) URL
url_get_scheme URL.getScheme() string
url_get_host URL.getHost() string
url_get_hostname URL.getHostname() string
url_get_port URL.getPort() string
url_get_escaped_path URL.getEscapedPath() string
url_get_query URL.getQuery() map(string, list(string))
is_url_string isURL(string) bool
"""

ADDRESSES = """
string_to_ip ip(string) IP
ip_family IP.family() int
ip_is_canonical ip.isCanonical(string) bool
ip_is_unspecified IP.isUnspecified() bool
ip_is_loopback IP.isLoopback() bool
ip_is_link_local_multicast IP.isLinkLocalMulticast() bool
ip_is_link_local_unicast IP.isLinkLocalUnicast() bool
ip_is_global_unicast IP.isGlobalUnicast() bool
is_ip isIP(string) bool
ip_to_string string(IP) string
string_to_cidr cidr(string) CIDR
cidr_contains_ip_string CIDR.containsIP(string) bool
cidr_contains_ip_ip CIDR.containsIP(IP) bool
cidr_contains_cidr_string CIDR.containsCIDR(string) bool
cidr_contains_cidr CIDR.containsCIDR(CIDR) bool
cidr_ip CIDR.ip() IP
cidr_prefix_length CIDR.prefixLength() int
cidr_masked CIDR.masked() CIDR
is_cidr isCIDR(string) bool
cidr_to_string string(CIDR) string
"""

#: Functions of `format.`; see draplugin.cel.functions.formats for what they check.
FORMAT_NAMES = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName"),
    *("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue"),
    *("uri", "uuid", "byte", "date", "datetime"),
)
FORMATS = (
    "\n".join(f"format.{name} format.{name}() Format" for name in FORMAT_NAMES)
    + """
format-validate Format.validate(string) optional(list(string))
format-named format.named(string) optional(Format)
"""
)

_WORDS: dict[str, Type] = {
    "any": types.ANY,
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "duration": types.DURATION,
    "dyn": types.DYN,
    "int": types.INT,
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "uint": types.UINT,
    "Quantity": types.QUANTITY,
    "Semver": types.SEMVER,
    "URL": types.URL,
    "IP": types.IP,
    "CIDR": types.CIDR,
    "Format": types.FORMAT,
}


@dataclass(frozen=True, slots=True)
class Overload:
    """One variant of a function: its id, whether it is a method, what it takes and gives."""

    id: str
    name: str
    is_method: bool
    params: tuple[Type, ...]
    result: Type


@cache
def table(text: str) -> tuple[Overload, ...]:
    """The variants that a table of this file declares."""
    return tuple(_overload(line) for line in text.splitlines() if line)


def _overload(line: str) -> Overload:
    name_id, rest = line.split(" ", 1)
    head, result = _split_result(rest)
    receiver, name, arguments = _split_head(head)
    params = [_read(part) for part in _split(arguments)]
    if receiver:
        params.insert(0, _read(receiver))
    return Overload(name_id, name, bool(receiver), tuple(params), _read(result))


def _split_result(text: str) -> tuple[str, str]:
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if text[at] == " " and depth == 0:
            return text[:at], text[at + 1 :]
    raise ValueError(text)


def _split_head(head: str) -> tuple[str, str, str]:
    opening = _matching(head)
    before, arguments = head[:opening], head[opening + 1 : -1]
    found = re.match(r"(?P<receiver>[A-Za-z]\w*(?:\(.*\))?)\.(?P<name>[@\w]+)\Z", before)
    if found is None or not _is_type(found["receiver"]):
        return "", before, arguments
    return found["receiver"], found["name"], arguments


def _matching(head: str) -> int:
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += (head[at] == ")") - (head[at] == "(")
        if depth == 0:
            return at
    raise ValueError(head)


def _is_type(text: str) -> bool:
    # `optional.of` and `format.uri` are names of functions, `optional(V).or` is a method.
    return text in _WORDS or "(" in text


def _split(arguments: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, char in enumerate(arguments):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(arguments[start:at])
            start = at + 2
    return [*parts, arguments[start:]] if arguments else []


def _read(text: str) -> Type:
    if text in _WORDS:
        return _WORDS[text]
    if len(text) == 1:
        return types.param(text)
    head, _, inner = text.partition("(")
    params = tuple(_read(part) for part in _split(inner[:-1]))
    if head == "optional":
        return types.optional_of(*params)
    return Type(head, params=params)
