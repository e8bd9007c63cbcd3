package raftnode

import (
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence/member"
)

// maxRounds bounds the rounds of heartbeats that wait for their quorum.
const maxRounds = 64

// A Log keeps the entries of one group on disk. Its methods are called in
// turns of the driver alone.
type Log interface {
	// Append writes entries, after cutting off those that they replace, and state
	// unless it is empty. What is written when Append returns is acknowledged.
	Append(entries []*raftpb.Entry, state *raftpb.HardState) error
	Safety
	Roster
	raft.Storage
}

// Safety is what may be lost of a log.
type Safety interface {
	// Lost reports whether entries at the end, which were acknowledged, may be missing
	// since the last start.
	Lost() bool
	// Recovered is called when everything is there again that is committed.
	Recovered() error
	// Forced returns up to which entry no crash can take what a leader has.
	Forced() uint64
}

// A Roster keeps the members of the group.
type Roster interface {
	// Members returns the members as of the last entry that was applied.
	Members() *Members
	// Change keeps the members on the device.
	Change(*Members) error
	// NewestLevel returns the newest level of a group that this member knows.
	NewestLevel() uint64
}

// A Machine is what the entries are applied to.
type Machine interface {
	// Commit is called with consecutive entries, from Applied()+1 on.
	Commit(entries []*raftpb.Entry) error
	// Lead is called when the first entry of term is applied and this member leads
	// in it: commands may be executed from then on.
	Lead(term uint64) error
	// Follow is called when the leadership is lost, before the log changes. It
	// drops from memory what is not committed.
	Follow() error
	// Applied returns the index of the last entry that memory contains.
	Applied() uint64
	States
}

// A Mesh carries messages to other members. Send never blocks; it may lose,
// delay, repeat and reorder.
type Mesh interface{ Send(*raftpb.Message) }

// Rules switches off rules of the package, for tests that show what each is for.
type Rules struct{ RaftLease, VoteAtOnce, KeepTerm, BlankVotes, HastyLearners bool }

// Config describes one member of one group.
type Config struct {
	ID       uint64
	Tick     time.Duration // how often Advance is called
	Election int           // an election timeout in ticks; at least 10
	Log      Log
	Machine  Machine
	Mesh     Mesh
	// Sender sends the state to members that lack entries which were cut off. Without one
	// they wait.
	Sender SnapshotSender
	// Keepalive, unless it is nil, sends messages again and again until end is called or the patience
	// is over. It does not wait.
	Keepalive func(messages []*raftpb.Message, patience time.Duration) (end func())
	Logger    raft.Logger
	// Proposals are taken by Work.
	Proposals *Proposals
	// NewestLevel returns the newest level that another member has told, 0 for one that was not heard. Nil: all know the
	// one that this member does.
	NewestLevel func(id uint64) uint64
	// Changed, unless it is nil, is called by Work with the members when they have changed.
	Changed func(*Members)
	// Give calls do in a later turn, when all is ready for another leader. Nil: do is called at once.
	Give func(do func())
	// Without is for tests.
	Without Rules
}

// A Driver is one member of one group. It is not safe for concurrent use.
type Driver struct {
	Config
	node      *raft.RawNode
	transfers map[uint64]*transfer // by member
	refused   []uint64             // members to which the state was not sent
	outdated  uint64               // the member that was last refused for its version
	received  *member.Import       // handed to raft, and not taken yet
	now       time.Duration
	started   time.Duration
	replied   map[uint64]time.Duration // when members replied to a leader last
	leading   uint64                   // the term that the machine leads, 0 for none
	lost      uint64                   // it is whole when an entry of this term is committed, 0 if it is now
	lease     time.Duration
	campaigns campaigns
	advanced  time.Duration // when Advance was called
	late      []lateMessage // one for each member at most, in the order of time
	handing   time.Duration // when a transfer has failed, 0 without one
	changing  bool          // a change of the members was proposed in this leadership
	round     uint64
	rounds    map[uint64]time.Duration
	stopped   error
}

// New starts a member at the time now of a monotonic clock that every other call
// uses as well.
func New(c Config, now time.Duration) (*Driver, error) {
	d := &Driver{Config: c, now: now, started: now, advanced: now, rounds: map[uint64]time.Duration{}, replied: map[uint64]time.Duration{}, transfers: map[uint64]*transfer{}}
	if d.campaigns.due = now; !d.alone() { // else it need not hear whether another one leads
		d.campaigns.due += d.timeout()
	}
	switch {
	case !c.Log.Lost() || c.Without.KeepTerm:
	case d.alone(), d.whole():
		if err := c.Log.Recovered(); err != nil {
			return nil, err
		}
	default:
		if err := d.beginTerm(); err != nil {
			return nil, err
		}
	}
	read := raft.ReadOnlySafe
	if c.Without.RaftLease {
		read = raft.ReadOnlyLeaseBased
	}
	var err error
	d.node, err = raft.NewRawNode(&raft.Config{
		ID: c.ID, ElectionTick: c.Election, HeartbeatTick: max(1, c.Election/10),
		Storage: c.Log, Applied: c.Machine.Applied(),
		MaxSizePerMsg: 256 << 10, MaxCommittedSizePerReady: 1 << 20,
		MaxUncommittedEntriesSize: 4 << 20, MaxInflightMsgs: 64, MaxInflightBytes: 4 << 20,
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true, StepDownOnRemoval: true,
		ReadOnlyOption: read, Logger: c.Logger,
	})
	return d, err
}

// beginTerm begins a term in which this member has acknowledged nothing (R6).
func (d *Driver) beginTerm() error {
	state, _, err := d.Log.InitialState()
	if err != nil {
		return err
	}
	d.lost = state.GetTerm() + 1
	return d.Log.Append(nil, &raftpb.HardState{Term: &d.lost, Vote: new(uint64), Commit: state.Commit})
}

func (d *Driver) timeout() time.Duration { return time.Duration(d.Election) * d.Tick }

// Advance moves the clock; call it with at least one tick's distance between calls.
func (d *Driver) Advance(now time.Duration) error {
	d.awake(now)
	d.now = now
	d.keep()
	d.retry()
	d.sendAllLate()
	if d.lost != 0 {
		return nil // it must not campaign
	}
	d.node.Tick()
	if err := d.campaign(); err != nil {
		return err
	}
	if d.handing != 0 && now >= d.handing && !d.stale() {
		return d.stepDown()
	}
	return nil
}

// Step takes a message of another member. What a member asks its own driver only is
// dropped, and so are snapshots, for which Install is.
func (d *Driver) Step(now time.Duration, m *raftpb.Message) error {
	d.now = now
	if m.GetTo() != d.ID {
		return fmt.Errorf("a message for member %d has come to %d", m.GetTo(), d.ID)
	}
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote:
		d.tellCandidate(m)
		if d.lost != 0 || !d.Without.VoteAtOnce && d.mute(now) > 0 {
			return nil // R5, R6
		}
		if drop, err := d.wiped(m); drop || err != nil {
			return err // R7
		}
	case raftpb.MsgTimeoutNow:
		if d.lost != 0 {
			return nil // R6
		}
	case raftpb.MsgTransferLeader:
		d.asked(m)
		return nil
	case kindOfWord:
		return d.told(m)
	case raftpb.MsgHeartbeat:
		if drop, err := d.lacks(m); drop || err != nil {
			d.stopped = err
			return err
		}
	case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgHeartbeatResp, raftpb.MsgVoteResp, raftpb.MsgPreVoteResp:
	default:
		return nil
	}
	err := d.node.Step(m)
	d.heard(m)
	if m.GetType() == raftpb.MsgAppResp && !m.GetReject() {
		d.tell(m.GetFrom())
	}
	return err
}

// wiped reports that the member has nothing but what founds a group, and the candidate
// more: so either it has just begun, or its disk is gone and with it what it acknowledged.
func (d *Driver) wiped(m *raftpb.Message) (bool, error) {
	if d.Without.BlankVotes || m.GetLogTerm() <= foundingTerm {
		return false, nil
	}
	return blank(d.Log)
}

// lacks reports that a leader knows of entries here that are not there. If they may be in
// what raft has not written yet the message is to be dropped, which heartbeats may be.
func (d *Driver) lacks(m *raftpb.Message) (drop bool, err error) {
	last, err := d.Log.LastIndex()
	if err != nil || m.GetCommit() <= last || m.GetTerm() < d.node.BasicStatus().HardState.GetTerm() {
		return false, err
	}
	if d.node.HasReady() {
		return true, nil
	}
	return true, fmt.Errorf("entry %d of %d is committed, and the leader has heard that it is here: %w", m.GetCommit(), last, ErrLostDisk)
}

// stale reports whether the machine leads a term that raft does not lead now.
func (d *Driver) stale() bool {
	s := d.node.BasicStatus()
	return s.RaftState != raft.StateLeader || s.HardState.GetTerm() != d.leading
}

// leads reports whether this member leads the group, its machine and raft in one term.
func (d *Driver) leads() bool { return d.leading != 0 && !d.stale() }

// mute is for how long this member does not vote yet (R5).
func (d *Driver) mute(now time.Duration) time.Duration { return max(0, d.started+d.timeout()-now) }

// led reports whether another member is known to lead.
func (d *Driver) led() bool {
	lead := d.node.BasicStatus().Lead
	return lead != raft.None && lead != d.ID
}

// Leading returns the term that the machine leads, 0 for none.
func (d *Driver) Leading() uint64 { return d.leading }

// Renew sends a round of heartbeats; when a majority has replied, there is a lease
// that counts from now.
func (d *Driver) Renew(now time.Duration) {
	d.now = now
	if !d.leads() || d.handing != 0 || len(d.rounds) >= maxRounds {
		return
	}
	d.round++
	d.rounds[d.round] = now
	d.node.ReadIndex(binary.BigEndian.AppendUint64(nil, d.round))
}

// Lease reports whether the leader may reply to reads at the time now. A follower
// counts whole ticks, so up to one of its timeout has passed when it begins.
func (d *Driver) Lease(now time.Duration) bool { return now < d.Held() }

// Held returns until when the leader may reply to reads, 0 for not at all.
func (d *Driver) Held() time.Duration {
	if !d.leads() || d.handing != 0 {
		return 0
	}
	return d.lease
}

// Transfer hands the leadership to another member. The lease ends at once, and this
// term has none again: the message that lets the other member campaign in spite of
// leases may be under way for ever. So if no member has taken over after an election
// timeout the leader steps down.
func (d *Driver) Transfer(now time.Duration, to uint64) {
	_, votes := d.node.Status().Config.Voters[0][to]
	if !d.leads() || to == d.ID || d.handing != 0 || !votes {
		return
	}
	d.now = now
	d.endLease()
	d.node.TransferLeader(to)
}

// endLease ends the lease of a leader that is to be followed by another one. The leader steps down if none follows.
func (d *Driver) endLease() {
	d.handing, d.lease = d.now+d.timeout(), 0
	clear(d.rounds)
}

// stepDown ends the leadership as a reply of a member in the next term does.
func (d *Driver) stepDown() error {
	kind, term := raftpb.MsgAppResp, d.leading+1
	return d.node.Step(&raftpb.Message{Type: &kind, From: &d.ID, To: &d.ID, Term: &term})
}

// Work writes, sends and applies what is due. After an error the member has
// stopped: it is to be made anew from its disk.
func (d *Driver) Work() error {
	for d.stopped == nil {
		d.propose()
		if d.stopped != nil || !d.node.HasReady() {
			break
		}
		d.stopped = d.turn()
	}
	d.drop()
	return d.stopped
}

// propose takes the proposals of this leadership; the others go.
func (d *Driver) propose() {
	d.Proposals.gather()
	term := uint64(0)
	if d.leads() {
		term = d.leading
		if d.Proposals.given(term) {
			d.stopped = d.stepDown()
			return
		}
	}
	d.Proposals.take(term, d.node.Propose)
}

func (d *Driver) turn() error {
	rd := d.node.Ready()
	defer d.keepalive(&rd)()
	if d.leading != 0 && d.stale() {
		d.leading, d.lease, d.handing, d.changing, d.late = 0, 0, 0, false, nil
		clear(d.rounds)
		if err := d.Machine.Follow(); err != nil { // R3
			return err
		}
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := d.restore(rd.Snapshot.GetMetadata(), rd.HardState); err != nil {
			return err
		}
	}
	d.send(rd.Messages, true)
	if len(rd.Entries) > 0 || !raft.IsEmptyHardState(rd.HardState) {
		if err := d.Log.Append(rd.Entries, rd.HardState); err != nil {
			return err
		}
	}
	d.send(rd.Messages, false)
	before := d.leading
	if err := d.commit(rd.CommittedEntries); err != nil {
		return err
	}
	for _, r := range rd.ReadStates {
		d.granted(r)
	}
	d.node.Advance(rd)
	if d.leading != before { // clients wait for the first lease
		d.Renew(d.now)
	}
	return nil
}

// send sends the messages of a turn, those before its entries are written with early. A
// leader's entries are on their way to others while it writes them itself: it counts as one
// that has them only after the turn. Its term and vote were written before it led. All
// else tells others of what is written.
func (d *Driver) send(messages []*raftpb.Message, early bool) {
	for _, m := range messages {
		switch kind := m.GetType(); {
		case (kind == raftpb.MsgApp) != early:
		case kind == raftpb.MsgSnap:
			d.sendSnapshot(m)
		case d.later(m):
		default:
			d.sendNow(m)
		}
	}
}

func (d *Driver) commit(entries []*raftpb.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	from := 0 // of those that are not applied
	for i, e := range entries {
		cc, err := decodeChange(e)
		if err != nil {
			return err
		}
		if cc == nil {
			continue
		}
		if err := d.Machine.Commit(entries[from:i]); err != nil {
			return err
		}
		if err := d.applyChange(e, cc); err != nil {
			return err
		}
		from = i
	}
	if err := d.Machine.Commit(entries[from:]); err != nil {
		return err
	}
	last := entries[len(entries)-1].GetTerm()
	if d.lost != 0 && last >= d.lost {
		d.lost = 0
		if err := d.Log.Recovered(); err != nil {
			return err
		}
	}
	s := d.node.BasicStatus()
	term := s.HardState.GetTerm()
	if s.RaftState != raft.StateLeader || d.leading != 0 || last != term {
		return nil
	}
	d.leading = term
	return d.Machine.Lead(term)
}

// granted extends the lease by a round that a majority has replied to.
func (d *Driver) granted(r raft.ReadState) {
	n := binary.BigEndian.Uint64(r.RequestCtx)
	sent, ok := d.rounds[n]
	if !ok {
		return
	}
	for k := range d.rounds {
		if k <= n {
			delete(d.rounds, k)
		}
	}
	if d.Without.RaftLease { // raft says that it leads: for how long is unknown
		d.lease = d.now + d.Tick
		return
	}
	d.lease = max(d.lease, sent+(d.timeout()-d.Tick)*9/10) // R4
}
