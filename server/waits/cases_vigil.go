package waits

import "strconv"

// The commands of Redis have their cases in the other files; here are those of
// schedules and of placement maps.

var schedCases = []Case{
	{Command: "SCHED.CREATE", What: "policy", Bytes: true, Call: refused(sized(nil, "SCHED.CREATE", Key, "POLICY"))},
	{Command: "SCHED.ADD", What: "nodes", Before: call("SCHED.CREATE", Key, "POLICY", "index"), Call: many(1, one, []string{"SCHED.ADD", Key})},
	{Command: "SCHED.REM", What: "nodes", Before: aSchedule, Call: many(1, one, []string{"SCHED.REM", Key})},
	{Command: "SCHED.NEXT", What: "nodes", Before: aSchedule, Call: upTo(maxProbes, nth("SCHED.NEXT", Key, "COUNT", "#"))},
	{Command: "SCHED.PEEK", What: "nodes", Before: aSchedule, Call: upTo(maxProbes, nth("SCHED.PEEK", Key, "COUNT", "#"))},
	{Command: "SCHED.OBSERVE", What: "nodes", Before: leased, Call: upTo(maxProbes, observe)},
	{Command: "SCHED.FAIL", What: "nodes", Before: leased, Call: upTo(maxProbes, many(1, one, []string{"SCHED.FAIL", Key}))},
	{Command: "SCHED.SIGNAL", What: "nodes", Before: aSchedule, Call: many(1, one, []string{"SCHED.SIGNAL", Key})},
	{Command: "SCHED.ALTER", What: "nodes", Before: aSchedule, Call: call("SCHED.ALTER", Key, "PROBES", "2")},
	{Command: "SCHED.PAUSE", What: "nodes", Before: aSchedule, Call: many(1, one, []string{"SCHED.PAUSE", Key, "60000"})},
	{Command: "SCHED.RESUME", What: "nodes", Before: aSchedule, Call: many(1, one, []string{"SCHED.RESUME", Key})},
	{Command: "SCHED.TAKE", What: "nodes", Before: aSchedule, Call: upTo(maxProbes, many(1, one, []string{"SCHED.TAKE", Key, "60000"}))},
	{Command: "SCHED.INFO", What: "nodes", Before: aSchedule, Call: call("SCHED.INFO", Key)},
	{Command: "SCHED.NODE", What: "nodes", Before: aSchedule, Call: nth("SCHED.NODE", Key, "last")},
	{Command: "SCHED.NODES", What: "nodes", Before: aSchedule, Call: call("SCHED.NODES", Key, "0", "COUNT", "1000000000")},
	{Command: "SCHED.NODES", What: "fields", Before: aSchedule, Call: call("SCHED.NODES", Key, "0", "COUNT", "1000000000", "WITH", "age", "index")},
	{Command: "SCHED.COST", What: "nodes", Before: aSchedule, Call: call("SCHED.COST", Key)},
	{Command: "SCHED.DUE", What: "nodes", Before: aSchedule, Call: call("SCHED.DUE", Key, "STEPS", "100")},
	{Command: "SCHED.LIMIT", What: "nodes", Before: aSchedule, Call: call("SCHED.LIMIT", Key, "g", "GAP", "5")},
	{Command: "SCHED.HOLD", What: "nodes", Before: aSchedule, Call: call("SCHED.HOLD", Key, "g", "5")},
	{Command: "SCHED.GROUP", What: "groups", Before: someGroups, Call: nth("SCHED.GROUP", Key, "g1")},
	{Command: "SCHED.GROUPS", What: "groups", Before: someGroups, Call: call("SCHED.GROUPS", Key, "0", "COUNT", "1000000000")},
	{Command: "SCHED.SIMULATE", What: "nodes", Before: aSchedule, Call: call("SCHED.SIMULATE", Key, "STEPS", "1000")},
}

// leased hands out all nodes that a schedule can have, as many as one call may ask for.
var leased = upTo(maxProbes, then(aSchedule, nth("SCHED.NEXT", Key, "COUNT", "#")))

// someGroups makes a schedule of as many groups as nodes.
var someGroups = then(call("SCHED.CREATE", Key, "POLICY", "index", "GROUPBY", "HOST"),
	built(1, func(c *Client, i int) { c.Arg("http://g" + strconv.Itoa(i)) }, "SCHED.ADD", Key))

var observe = many(2, unit, []string{"SCHED.OBSERVE", Key})

func unit(c *Client, i int) { one(c, i); c.Arg("1") }

const (
	maxProbes = 1 << 16 // of one SCHED.NEXT
	maxUnits  = 1 << 16 // of a map
	maxHeld   = 1 << 20 // objects that are assigned to one
)

var placeCases = []Case{
	{Command: "PLACE.CREATE", What: "strategy", Bytes: true, Call: refused(sized(nil, "PLACE.CREATE", Key, "STRATEGY"))},
	{Command: "PLACE.SET", What: "units", Before: call("PLACE.CREATE", Key), Call: upTo(maxUnits, many(2, unit, []string{"PLACE.SET", Key}))},
	{Command: "PLACE.DEL", What: "units", Before: aMap, Call: func(c *Client, n int) { many(1, one, []string{"PLACE.DEL", Key})(c, min(n, maxUnits)-1) }},
	{Command: "PLACE.LOCATE", What: "objects", Before: aMap, Call: many(1, one, []string{"PLACE.LOCATE", Key})},
	{Command: "PLACE.ASSIGN", What: "objects", Before: aBoundMap, Call: upTo(maxHeld, many(1, one, []string{"PLACE.ASSIGN", Key}))},
	{Command: "PLACE.RELEASE", What: "objects", Before: then(aBoundMap, upTo(maxHeld, many(1, one, []string{"PLACE.ASSIGN", Key}))),
		Call: upTo(maxHeld, many(1, one, []string{"PLACE.RELEASE", Key}))},
	{Command: "PLACE.UNITS", What: "units", Before: aMap, Call: call("PLACE.UNITS", Key)},
	{Command: "PLACE.INFO", What: "units", Before: aMap, Call: call("PLACE.INFO", Key)},
	{Command: "PLACE.PREVIEW", What: "units", Before: aMap, Call: call("PLACE.PREVIEW", Key, "DEL", element(1))},
	{Command: "PLACE.EXPORT", What: "units", Before: aMap, Call: call("PLACE.EXPORT", Key)},
	{Command: "PLACE.IMPORT", What: "units", Before: then(aMap, exported), Call: imported},
}

// aBoundMap makes a map of a few units, whatever the size: objects are what is many.
var aBoundMap = then(call("PLACE.CREATE", Key, "BOUND", "0.1"), call("PLACE.SET", Key, "a", "1", "b", "2", "c", "3"))

func exported(c *Client, _ int) { c.Keep("PLACE.EXPORT", Key) }

func imported(c *Client, _ int) { c.Do("PLACE.IMPORT", "other", string(c.text)) }
