package schedule

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/scheduler"
)

// The head. Numbers are uvarints, floats and the seed 8 bytes little endian.
//
//	+---------+--------+-----------+--------+--------+------+---------+
//	| version | policy | estimator | probes | window | seed | step-ms |
//	+---------+--------+-----------+--------+--------+------+---------+
//	+----------+---------+-------+-----+------+-------+--------+
//	| lease-ms | explore | epoch | now | step | calls | handed |
//	+----------+---------+-------+-----+------+-------+--------+
//	+----------+--------+------------+-------+
//	| observed | failed | memo count | memo  |
//	+----------+--------+------------+-------+
//
// version, policy and estimator are a byte each. A schedule that was not
// created is two bytes, version and 0. A schedule that has signals has version 2,
// and after the memo a mask with bit k for field k, and those fields that are not 0:
//
//	0 quiet-ms    1 signals taken in     2 theta     3 sure (of scheduler.Crowd)
//	4 groups by host (1)   5 deadlines missed   6 steps by which one was missed at most
//	7 budget      8 purse   9 step of the purse         10 price of probes
//
// A page: which of its 64 slots are used, and their nodes in order.
//
//	+----------------+------+------+-----
//	| used (8 bytes) | node | node | ...
//	+----------------+------+------+-----
//
// In version 2 the groups whose numbers are those of its slots come first, if there are
// any: 8 bytes that are 0, their first number divided by 64, which of the numbers are
// used, and the groups in order.
//
//	+-------------+------+----------------+-------+-----+----------------+------+-----
//	| 0 (8 bytes) | page | used (8 bytes) | group | ... | used (8 bytes) | node | ...
//	+-------------+------+----------------+-------+-----+----------------+------+-----
//
// A group: its name, and those fields that are not 0, told by a mask as those of a node.
//
//	0 gap-ms     1 rest-ms     2 steps    3 concurrency    4 handed at + 1
//	5 ended at + 1             6 step of the last hand-out + 1
//	7 held until (ms)          8 theta    9 sure
//
// A node: its name, and those fields that differ from their default, told by a
// mask with bit k for field k.
//
//	+-------------+------+------+--------
//	| name length | name | mask | fields
//	+-------------+------+------+--------
//
//	 0 rate        1 weight    2 decay      3 arrival   4 cost
//	 5 max age     6 born      7 last-born  8 probes    9 items
//	10 estimate   11 count    12 exposure  13 up       14 down
//	15 lease end, step of the lease        16 memo count, memo
//
// and in version 2 only
//
//	17 precision  18 recall    19 nats       20 signals  21 heard
//	22 listened   23 silent    24 sure       25 trust    26 handed out at (ms)
//	27 nats, signals before the lease      28 end of the pause (ms)
//	29 group                               30 born - last, if that is earlier
//	31 deadline   32 priced (of scheduler.Params)
//
// Policy and estimator numbers are defined in package scheduler. All these
// numbers are on disk and never change.
const version, versionSignals = 1, 2

// Fields of the head of versionSignals.
const (
	headQuiet = iota
	headSignals
	headTheta
	headSure
	headByHost
	headMissed
	headWorst
	headBudget
	headPurse
	headPurseStep
	headPrice
	headEnd
)

const (
	fieldRate = iota
	fieldWeight
	fieldDecay
	fieldArrival
	fieldCost
	fieldMaxAge
	fieldBorn
	fieldLast
	fieldProbes
	fieldItems
	fieldEstimate
	fieldCount
	fieldExposure
	fieldUp
	fieldDown
	fieldLease
	fieldMemo
	fieldPrecision
	fieldRecall
	fieldNats
	fieldSignals
	fieldHeard
	fieldListened
	fieldSilent
	fieldSure
	fieldTrust
	fieldHanded
	fieldLeaseSignals
	fieldPaused
	fieldGroup
	fieldBefore
	fieldDeadline
	fieldPriced
	fieldEnd

	fieldEnd1 = fieldMemo + 1 // of version
)

func floatBits(v float64) uint64 { return math.Float64bits(v) }

func appendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, floatBits(v))
}

func appendFloats(dst []byte, list []float64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, v := range list {
		dst = appendFloat(dst, v)
	}
	return dst
}

// Form is 1 for a schedule of versionSignals, else 0.
func (s *Schedule) Form() byte {
	if s.version == versionSignals {
		return 1
	}
	return 0
}

// AppendHead appends the head to dst.
func (s *Schedule) AppendHead(dst []byte) []byte {
	if !s.plan.created() {
		return append(dst, version, 0)
	}
	dst = append(dst, s.version, s.plan.spec.Number, s.plan.learns.Number)
	dst = binary.AppendUvarint(dst, uint64(s.config.Probes))
	dst = appendFloat(dst, s.config.Window)
	dst = binary.LittleEndian.AppendUint64(dst, s.config.Seed)
	dst = binary.AppendUvarint(dst, uint64(s.config.StepMillis))
	dst = binary.AppendUvarint(dst, uint64(s.config.LeaseMillis))
	dst = appendFloat(dst, s.config.Explore)
	for _, v := range [...]uint64{uint64(s.clock.epoch), uint64(s.clock.now), uint64(s.clock.step),
		s.calls, s.handed, s.observed, s.failed} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = appendFloats(dst, s.table.Memo)
	if s.version == version {
		return dst
	}
	return s.appendHeadFields(dst)
}

// appendFields appends which fields are not zero, and these: bits of floating-point numbers or numbers.
func appendFields(dst []byte, fields []uint64, float func(i int) bool) []byte {
	mask := uint64(0)
	for i, v := range fields {
		if v != 0 {
			mask |= 1 << i
		}
	}
	dst = binary.AppendUvarint(dst, mask)
	for i, v := range fields {
		switch {
		case v == 0:
		case float(i):
			dst = binary.LittleEndian.AppendUint64(dst, v)
		default:
			dst = binary.AppendUvarint(dst, v)
		}
	}
	return dst
}

// appendHeadFields appends what versionSignals adds to the head.
func (s *Schedule) appendHeadFields(dst []byte) []byte {
	fields := [headEnd]uint64{headQuiet: uint64(s.config.QuietMillis), headSignals: s.signals,
		headTheta: floatBits(s.table.Crowd.Theta), headSure: floatBits(s.table.Crowd.Sure)}
	if s.config.ByHost {
		fields[headByHost] = 1
	}
	fields[headMissed], fields[headWorst] = s.missed, uint64(s.worst)
	fields[headBudget], fields[headPurse], fields[headPurseStep] = floatBits(s.config.Budget), floatBits(s.purse.Left), uint64(s.purse.Step)
	fields[headPrice] = floatBits(s.config.Price)
	return appendFields(dst, fields[:], headFloat)
}

// headFloat says that a field of the head is a float.
func headFloat(field int) bool {
	return field == headTheta || field == headSure || field == headBudget || field == headPurse || field == headPrice
}

// Pages visits the pages that changed since Clean, or all.
func (s *Schedule) Pages(all bool, visit func(id uint64, page []byte)) {
	after := s.changed.after
	if all {
		after = s.pageAfter
	}
	var buf []byte
	for id := after(0); id >= 0; id = after(id + 1) {
		if buf = s.appendPage(buf[:0], id); len(buf) > 0 {
			visit(uint64(id), buf)
		} else if !all {
			visit(uint64(id), nil)
		}
	}
}

// MarkAllDirty marks every page as changed.
func (s *Schedule) MarkAllDirty() {
	for id := s.pageAfter(0); id >= 0; id = s.pageAfter(id + 1) {
		s.changed.touch(id * scheduler.PageSize)
	}
}

// pageAfter is the first page from one on that may have nodes or groups, -1 if there
// is none.
func (s *Schedule) pageAfter(id int) int {
	if id*scheduler.PageSize < len(s.groups.names) {
		return id
	}
	if slot := s.table.After(id * scheduler.PageSize); slot >= 0 {
		return slot / scheduler.PageSize
	}
	return -1
}

// Flush visits up to n of the pages that changed since Clean, as Pages does,
// marks them as stored, and reports whether there are others.
func (s *Schedule) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	var buf []byte
	for id := s.changed.after(0); id >= 0; id = s.changed.after(id + 1) {
		if n == 0 {
			return true
		}
		n--
		s.changed.stored(id)
		if buf = s.appendPage(buf[:0], id); len(buf) == 0 {
			visit(uint64(id), nil)
		} else {
			visit(uint64(id), buf)
		}
	}
	return false
}

// Clean marks every page as stored.
func (s *Schedule) Clean() { clear(s.changed) }

// appendPage appends page id, or nothing if it has no nodes.
func (s *Schedule) appendPage(dst []byte, id int) []byte {
	first, used := id*scheduler.PageSize, uint64(0)
	dst = s.groups.appendPage(dst, id)
	at := len(dst)
	if at > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, 0)
	}
	for i := range scheduler.PageSize {
		var n scheduler.Node
		if !s.table.Load(first+i, &n) {
			continue
		}
		if used == 0 && at == 0 {
			dst = binary.LittleEndian.AppendUint64(dst, 0)
		}
		used |= 1 << i
		l, paused := s.hidden.stored(first+i, s.clock.now)
		dst = appendNode(dst, s.names.of(first+i), &n, l, paused)
	}
	if used != 0 {
		binary.LittleEndian.PutUint64(dst[at:], used)
	}
	return dst
}

func appendGroup(dst []byte, name string, g *scheduler.Group) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(name)))
	dst = append(dst, name...)
	var fields [10]uint64
	for i, v := range [...]int64{g.Gap, g.Rest, g.Steps, int64(g.Concurrency), g.Handed, g.Ended, g.Last, g.Held} {
		fields[i] = uint64(v)
	}
	fields[groupTheta], fields[groupSure] = floatBits(g.Crowd.Theta), floatBits(g.Crowd.Sure)
	return appendFields(dst, fields[:], func(i int) bool { return i >= groupTheta })
}

// The last fields of a group are floats.
const groupTheta, groupSure, groupEnd = 8, 9, 10

// paramsMask says which parameters differ from their default.
func paramsMask(p *scheduler.Params) (mask uint64) {
	for i, field := range paramFields(p) {
		if *field != paramDefault(i) {
			mask |= 1 << i
		}
	}
	if p.MaxAge != 0 {
		mask |= 1 << fieldMaxAge
	}
	for i, share := range shareFields(p) {
		if *share != scheduler.Unknown {
			mask |= 1 << (fieldPrecision + i)
		}
	}
	if p.Deadline != 0 {
		mask |= 1 << fieldDeadline
	}
	if p.Priced != 0 {
		mask |= 1 << fieldPriced
	}
	return mask
}

// allParams are the fields of parameters.
const allParams = 1<<fieldBorn - 1 | 1<<fieldPrecision | 1<<fieldRecall | 1<<fieldDeadline | 1<<fieldPriced

// appendTerms appends the parameters after those of signals.
func appendTerms(dst []byte, p *scheduler.Params) []byte {
	if p.Deadline != 0 {
		dst = binary.AppendUvarint(dst, uint64(p.Deadline))
	}
	if p.Priced != 0 {
		dst = appendFloat(dst, p.Priced)
	}
	return dst
}

// shareFields are the fields 17 and 18.
func shareFields(p *scheduler.Params) [2]*float64 { return [...]*float64{&p.Precision, &p.Recall} }

// signalFields are the fields 19 to 25, whose default is 0.
func signalFields(n *scheduler.Node) [7]*float64 {
	s := &n.Signals
	return [...]*float64{&s.Nats, &s.Count, &s.Heard, &s.Listened, &s.Silent, &s.Sure, &s.Trust}
}

// paramFields are the fields 0 to 4.
func paramFields(p *scheduler.Params) [5]*float64 {
	return [...]*float64{&p.Rate, &p.Weight, &p.Decay, &p.Arrival, &p.Cost}
}

func paramDefault(field int) float64 {
	return [...]float64{scheduler.Unknown, 1, 0, scheduler.Unknown, 1}[field]
}

// learntFields are the fields 9 to 14, whose default is 0.
func learntFields(n *scheduler.Node) [6]*float64 {
	return [...]*float64{&n.Items, &n.Estimate, &n.Count, &n.Exposure, &n.Up, &n.Down}
}

// appendParams appends a mask and the parameters, as a node without the rest.
func appendParams(dst []byte, p *scheduler.Params) []byte {
	mask := paramsMask(p)
	return appendTerms(appendShares(appendParamFields(binary.AppendUvarint(dst, mask), mask, p), p), p)
}

func appendShares(dst []byte, p *scheduler.Params) []byte {
	for _, share := range shareFields(p) {
		if *share != scheduler.Unknown {
			dst = appendFloat(dst, *share)
		}
	}
	return dst
}

func appendParamFields(dst []byte, mask uint64, p *scheduler.Params) []byte {
	for i, field := range paramFields(p) {
		if mask>>i&1 != 0 {
			dst = appendFloat(dst, *field)
		}
	}
	if p.MaxAge != 0 {
		dst = binary.AppendUvarint(dst, uint64(p.MaxAge))
	}
	return dst
}

// nodeMask is which fields of a node are stored: those that are not zero, of ints among them.
func nodeMask(n *scheduler.Node, ints []int64, l lease, paused int64) uint64 {
	mask := paramsMask(&n.Params)
	for i, v := range ints {
		if v != 0 {
			mask |= 1 << (fieldBorn + i)
		}
	}
	for i, field := range learntFields(n) {
		if *field != 0 {
			mask |= 1 << (fieldItems + i)
		}
	}
	if l.until != 0 {
		mask |= 1 << fieldLease
	}
	if len(n.Memo) > 0 {
		mask |= 1 << fieldMemo
	}
	mask |= signalsMask(n, l)
	if paused != 0 {
		mask |= 1 << fieldPaused
	}
	if n.Group != 0 {
		mask |= 1 << fieldGroup
	}
	if n.Last < n.Born {
		mask |= 1 << fieldBefore
	}
	return mask
}

// appendNode appends a node. The zero lease is none, and so is a pause until 0.
func appendNode(dst []byte, name string, n *scheduler.Node, l lease, paused int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(name)))
	dst = append(dst, name...)
	ints := [...]int64{n.Born, max(0, n.Last-n.Born), n.Probes}
	mask := nodeMask(n, ints[:], l, paused)
	dst = binary.AppendUvarint(dst, mask)
	dst = appendParamFields(dst, mask, &n.Params)
	for _, v := range ints {
		if v != 0 {
			dst = binary.AppendUvarint(dst, uint64(v))
		}
	}
	for _, field := range learntFields(n) {
		if *field != 0 {
			dst = appendFloat(dst, *field)
		}
	}
	if l.until != 0 {
		dst = binary.AppendUvarint(dst, uint64(l.until))
		dst = binary.AppendUvarint(dst, uint64(l.step))
	}
	if len(n.Memo) > 0 {
		dst = appendFloats(dst, n.Memo)
	}
	dst = appendSignals(appendShares(dst, &n.Params), n, l)
	if paused != 0 {
		dst = binary.AppendUvarint(dst, uint64(paused))
	}
	if n.Group != 0 {
		dst = binary.AppendUvarint(dst, uint64(n.Group))
	}
	if n.Last < n.Born {
		dst = binary.AppendUvarint(dst, uint64(n.Born-n.Last))
	}
	return appendTerms(dst, &n.Params)
}

func signalsMask(n *scheduler.Node, l lease) (mask uint64) {
	for i, field := range signalFields(n) {
		if *field != 0 {
			mask |= 1 << (fieldNats + i)
		}
	}
	if n.Handed != 0 {
		mask |= 1 << fieldHanded
	}
	if l.heard != 0 {
		mask |= 1 << fieldLeaseSignals
	}
	return mask
}

// appendSignals appends the fields from fieldNats on.
func appendSignals(dst []byte, n *scheduler.Node, l lease) []byte {
	for _, field := range signalFields(n) {
		if *field != 0 {
			dst = appendFloat(dst, *field)
		}
	}
	if n.Handed != 0 {
		dst = binary.AppendUvarint(dst, uint64(n.Handed))
	}
	if l.heard != 0 {
		dst = appendFloat(appendFloat(dst, l.nats), l.heard)
	}
	return dst
}
