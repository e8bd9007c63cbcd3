package admin

import (
	"math"
	"slices"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin/hotkeys"
	"github.com/vigildb/vigil/structures/slots"
)

// HotKeys is what the server knows of the keys that take most of its time or network.
type HotKeys interface {
	// HotKeys is where the tracker is.
	HotKeys() *hotkeys.Watch
	// TrackKeys returns a tracker that counts from now on.
	TrackKeys(o hotkeys.Options) *hotkeys.Tracker
}

// hotKeysFlags are those of Redis: a script sees no other calls.
const hotKeysFlags = commands.Admin | commands.NoScript

// Bounds of options.
const (
	hotKeysDefault = 10
	hotKeysMost    = 64
	hotKeysMetrics = 2
	hotKeysLongest = 1000000 // seconds
)

func hotKeysRows() []commands.Command {
	const all = "request_policy:all_nodes"
	return []commands.Command{
		{Name: "HOTKEYS", Arity: -2, Since: "8.6.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about the keys that take most of the time or the network."},
		{Name: "HOTKEYS START", Arity: -2, Tips: all + " response_policy:all_succeeded", Flags: hotKeysFlags,
			Syntax: "METRICS count [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio] [SLOTS count slot [slot ...]]",
			Since:  "8.6.0", Cost: "O(1)",
			Summary: "Begins to count which keys take most of the time, the network, or both.", Run: hotKeysStart},
		{Name: "HOTKEYS STOP", Arity: 2, Tips: all + " response_policy:all_succeeded", Flags: hotKeysFlags, Since: "8.6.0", Cost: "O(1)",
			Summary: "Ends the counting, and keeps what was found.", Run: hotKeysStop},
		{Name: "HOTKEYS GET", Arity: 2, Tips: all + " response_policy:special nondeterministic_output", Flags: hotKeysFlags, Since: "8.6.0",
			Cost:    "O(k) for k keys",
			Summary: "Returns the keys that were found, with the microseconds or the bytes of each.", Run: hotKeysGet},
		{Name: "HOTKEYS RESET", Arity: 2, Tips: all + " response_policy:all_succeeded", Flags: hotKeysFlags, Since: "8.6.0", Cost: "O(1)",
			Summary: "Forgets what was found.", Run: hotKeysReset},
		commands.Help("HOTKEYS", "8.6.0", commands.Loading|commands.Stale),
	}
}

func hotKeysStart(c *commands.Ctx) error {
	o, err := readHotKeys(c)
	if err != nil {
		return err
	}
	host := c.Host.(HotKeys)
	if host.HotKeys().Begin(func() *hotkeys.Tracker { return host.TrackKeys(o) }) != nil {
		return errHotKeysRun
	}
	c.Reply.OK()
	return nil
}

// readHotKeys reads the options of START.
func readHotKeys(c *commands.Ctx) (o hotkeys.Options, err error) {
	a := &c.Args
	o = hotkeys.Options{Keys: hotKeysDefault, Sample: 1}
	if !a.More() || !commands.EqualFold(a.Peek(), "METRICS") {
		return o, errHotKeysMetrics
	}
	a.Word()
	readHotMetrics(a, &o)
	var once commands.Once
	for a.More() {
		if o.Slots != nil && commands.EqualFold(a.Peek(), "SLOTS") {
			a.Fail(errHotKeysSlotsTwice)
		}
		switch once.Word(a) {
		case "COUNT":
			o.Keys = int(a.IntIn(1, hotKeysMost, errHotKeysKeys))
		case "DURATION":
			o.Duration = time.Duration(a.IntIn(1, hotKeysLongest, errHotKeysDuration)) * time.Second
		case "SAMPLE":
			o.Sample = int(a.IntIn(1, math.MaxInt32, errHotKeysSample))
		case "SLOTS":
			o.Slots = readHotSlots(c)
		default:
			a.Syntax()
		}
	}
	return o, a.Done()
}

// readHotMetrics reads the number of metrics and their names. Names that are unknown count, so that a call
// may name metrics of later versions.
func readHotMetrics(a *commands.Args, o *hotkeys.Options) {
	for n := a.IntIn(1, hotKeysMetrics, errHotKeysCount); n > 0 && a.Err() == nil; n-- {
		if !a.More() {
			a.Fail(errHotKeysMismatch)
			return
		}
		switch a.Word() {
		case "CPU":
			if o.CPU {
				a.Fail(errHotKeysCPU)
			}
			o.CPU = true
		case "NET":
			if o.NET {
				a.Fail(errHotKeysNET)
			}
			o.NET = true
		}
	}
	if !o.CPU && !o.NET {
		a.Fail(errHotKeysNone)
	}
}

// readHotSlots reads the slots that are looked at, in their order.
func readHotSlots(c *commands.Ctx) []int {
	a := &c.Args
	if !c.Host.Limits().Slots {
		a.Fail(errHotKeysAlone)
	}
	n := a.IntIn(1, slots.Count, errHotKeysSlots)
	if a.Err() == nil && int64(a.Left()) < n {
		a.Fail(errHotKeysFew)
	}
	list, own := make([]int, 0, n), ownSlots(c)
	for range n {
		slot := int(a.IntIn(0, slots.Count-1, errHotKeysSlot))
		if a.Err() != nil {
			break
		}
		if !own.Has(slot) {
			a.Fail(errHotKeysForeign(slot))
		}
		list = append(list, slot)
	}
	slices.Sort(list)
	if all := len(list); len(slices.Compact(list)) != all {
		a.Fail(errHotKeysTwice)
	}
	return list
}

// ownSlots are the slots that the server serves.
func ownSlots(c *commands.Ctx) *slots.Set {
	if c.Host.Limits().Slots {
		if m := c.Membership(); m != nil {
			return m.Shards()[0].Slots
		}
	}
	return slots.All()
}

func hotKeysStop(c *commands.Ctx) error {
	if t := c.Host.(HotKeys).HotKeys().Last(); t == nil || !t.Stop() {
		c.Reply.Null()
		return nil
	}
	c.Reply.OK()
	return nil
}

func hotKeysReset(c *commands.Ctx) error {
	if c.Host.(HotKeys).HotKeys().Forget() != nil {
		return errHotKeysActive
	}
	c.Reply.OK()
	return nil
}

func hotKeysGet(c *commands.Ctx) error {
	t := c.Host.(HotKeys).HotKeys().Last()
	if t == nil {
		c.Reply.NullArray()
		return nil
	}
	r := t.Report()
	c.Reply.Array(1)
	c.Reply.MapLater(func() (pairs int) {
		number := func(name string, n int64) {
			c.Reply.BulkString(name)
			c.Reply.Int(n)
			pairs++
		}
		active := int64(0)
		if r.Active {
			active = 1
		}
		number("tracking-active", active)
		number("sample-ratio", int64(r.Sample))
		c.Reply.BulkString("selected-slots")
		replySlots(c, r.Slots)
		pairs++
		chosen := len(r.Slots) > 0
		if chosen && r.Sample > 1 {
			number("sampled-commands-selected-slots-us", r.Sampled.Time.Microseconds())
		}
		if chosen {
			number("all-commands-selected-slots-us", r.Selected.Time.Microseconds())
		}
		number("all-commands-all-slots-us", r.All.Time.Microseconds())
		if chosen && r.Sample > 1 {
			number("net-bytes-sampled-commands-selected-slots", r.Sampled.Bytes)
		}
		if chosen {
			number("net-bytes-all-commands-selected-slots", r.Selected.Bytes)
		}
		number("net-bytes-all-commands-all-slots", r.All.Bytes)
		number("collection-start-time-unix-ms", r.Began.UnixMilli())
		number("collection-duration-ms", r.Lasted.Milliseconds())
		if r.CPU {
			number("total-cpu-time-user-ms", r.Processor.User.Milliseconds())
			number("total-cpu-time-sys-ms", r.Processor.System.Milliseconds())
		}
		if r.NET {
			number("total-net-bytes", r.All.Bytes)
		}
		if r.CPU {
			pairs += replyAmounts(&c.Reply, "by-cpu-time-us", r.ByTime)
		}
		if r.NET {
			pairs += replyAmounts(&c.Reply, "by-net-bytes", r.ByBytes)
		}
		return pairs
	})
	return nil
}

// replySlots writes the ranges of slots that are looked at: those of the list, or all of the node.
func replySlots(c *commands.Ctx, list []int) {
	of, r := new(slots.Set), &c.Reply
	for _, slot := range list {
		of.Add(slots.Range{First: slot, Last: slot})
	}
	if len(list) == 0 {
		of = ownSlots(c)
	}
	ranges := of.Ranges()
	r.Array(len(ranges))
	for _, part := range ranges {
		if r.Array(min(2, part.Last-part.First+1)); part.First < part.Last {
			r.Int(int64(part.First))
		}
		r.Int(int64(part.Last))
	}
}

// replyAmounts writes keys and what they took, one after the other.
func replyAmounts(r *commands.Reply, name string, list []hotkeys.Amount) (pairs int) {
	r.BulkString(name)
	r.Array(2 * len(list))
	for _, a := range list {
		r.BulkString(a.Key)
		r.Int(a.N)
	}
	return 1
}
