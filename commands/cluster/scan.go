package cluster

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// CLUSTERSCAN goes through the keys of all nodes, each call at one of them. Its cursors are
//
//	mark-{tag}-place
//
// where the tag hashes to the slot to go on with, so that clients send the call to the node that has it. From that slot on a node goes
// through the keys of all slots that it has in a row. The mark says which node and which slots those were: keys are in another order
// elsewhere, and slots move, so that a call with another mark begins again with the slot. Each key that is there all the time is
// returned, some more than once. 0 begins and ends.

// scanCursor is a cursor that is not 0.
type scanCursor struct {
	mark  string
	slot  int
	place uint64
}

func (s scanCursor) String() string {
	return s.mark + "-{" + commands.SlotTag(s.slot) + "}-" + strconv.FormatUint(s.place, 10)
}

// from returns the cursor at which a slot begins.
func from(slot int) string { return scanCursor{mark: "0", slot: slot}.String() }

// parseCursor reads a cursor that is not 0.
func parseCursor(b []byte) (s scanCursor, ok bool) {
	mark, rest, ok := strings.Cut(string(b), "-{")
	tag, place, closed := strings.Cut(rest, "}-")
	if !ok || !closed || mark == "" || tag == "" || strings.ContainsAny(mark, "{}-") {
		return s, false
	}
	n, err := strconv.ParseUint(place, 10, 64)
	return scanCursor{mark, commands.KeySlot([]byte(tag)), n}, err == nil
}

// maxSpread bounds how many more keys a call looks at when only some slots count.
const maxSpread = 64

// slotScan is a call of CLUSTERSCAN.
type slotScan struct {
	at   scanCursor
	only int    // the slot that is asked for, NoSlot for all
	last int    // up to which slot this node goes on
	kind []byte // nil: of any type
	o    commands.ScanOptions
}

func clusterScanRow() commands.Command {
	key := commands.Key(1, commands.NotKey)
	key.Find = func(argv [][]byte) []int { // the first call goes to any node
		if len(argv) < 2 || string(argv[1]) == "0" {
			return nil
		}
		return []int{1}
	}
	return commands.Command{Name: "CLUSTERSCAN", Arity: -2, Flags: commands.ReadOnly | commands.Keyspace, Keys: []commands.KeySpec{key},
		Category: "keyspace", Tips: "nondeterministic_output request_policy:special response_policy:special",
		Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot]", Since: "9.1.0", Cost: "O(1) for each call, O(n) for all keys",
		Summary: "Iterates over the keys of the cluster.", Run: inCluster(seen(clusterScan))}
}

func clusterScan(c *commands.Ctx, m *commands.Membership) error {
	cursor := c.Args.Bytes()
	s, end := slotScan{only: commands.NoSlot}, ""
	begins := string(cursor) == "0"
	if !begins {
		var ok bool
		if s.at, ok = parseCursor(cursor); !ok {
			return errCursor
		}
	}
	s.o = c.Args.ScanOptions(func() bool {
		switch {
		case c.Args.Left() < 2:
			return false
		case c.Args.Is("TYPE"):
			s.kind = c.Args.Bytes()
		case c.Args.Is("SLOT"):
			if s.only != commands.NoSlot {
				c.Args.Fail(errScanSlotTwice)
			}
			s.only = int(readRanged(c))
		default:
			return false
		}
		return true
	})
	if err := c.Args.Done(); err != nil {
		return err
	}
	matched := commands.NoSlot
	if s.o.Pattern != nil {
		matched = commands.PatternSlot(s.o.Pattern)
	}
	switch {
	case s.only != commands.NoSlot && !begins && s.at.slot != s.only:
		return errCursorSlot
	case s.only != commands.NoSlot && matched != commands.NoSlot && s.only != matched:
		end = "0"
	case s.only == commands.NoSlot && matched != commands.NoSlot:
		if s.only = matched; begins || s.at.slot != matched {
			end = from(matched)
		}
	case begins:
		end = from(max(s.only, 0))
	}
	if end != "" {
		c.Reply.Array(2)
		c.Reply.BulkString(end)
		c.Reply.Array(0)
		return nil
	}
	return s.run(c, m)
}

// run looks at keys of the slots that this node has from the cursor on.
func (s *slotScan) run(c *commands.Ctx, m *commands.Membership) error {
	own := m.Shards()[0].Slots
	s.last = s.at.slot
	for s.only == commands.NoSlot && s.last+1 < commands.Slots && own.Has(s.last+1) {
		s.last++
	}
	if mark := s.mark(m); s.at.mark != mark {
		s.at.mark, s.at.place = mark, 0
	}
	n := s.last - s.at.slot + 1
	look := s.o.Count * min(maxSpread, max(1, commands.Slots/n))
	at := c.Reply.Len()
	c.Reply.ArrayLater(func() (found int) {
		s.at.place = c.Tx.Databases().Scan(s.at.place, look, func(key []byte, kind structures.Kind) {
			slot := commands.KeySlot(key)
			if slot < s.at.slot || slot > s.last || !s.o.Matches(key) || s.kind != nil && !strings.EqualFold(string(s.kind), types.Name(kind)) {
				return
			}
			c.Reply.Bulk(key)
			found++
		})
		return found
	})
	c.Reply.Insert(at, s.head())
	return nil
}

// head is what a reply has before its keys: the cursor.
func (s *slotScan) head() []byte {
	next := s.at.String()
	if s.at.place == 0 {
		if next = "0"; s.only == commands.NoSlot && s.last+1 < commands.Slots {
			next = from(s.last + 1)
		}
	}
	r := commands.NewReply(nil, 2)
	r.Array(2)
	r.BulkString(next)
	return bytes.Clone(r.Encoded())
}

// mark tells the node and the slots of a cursor from others.
func (s *slotScan) mark(m *commands.Membership) string {
	h := fnv.New64a()
	h.Write([]byte(m.Members[m.Self].ID))
	h.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(s.at.slot)), uint32(s.last)))
	return strconv.FormatUint(h.Sum64()&(1<<40-1)|1, 36)
}
