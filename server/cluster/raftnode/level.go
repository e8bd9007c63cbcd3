package raftnode

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/server/cluster/logs"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
)

// The level of a group says what its members may write into its log and its state (persistence.NewestLevel). It is
// raised by an entry of the log, which is a change of the members: so while it is under way nobody joins, and whoever
// joins later is compared with it. It never falls. ADR 0076.

// changesLevel is the type of a change that raises the level, to the number that is in the place of a member. Raft knows no
// such type, nor do versions without levels, which stop at the entry before they apply it.
const changesLevel raftpb.ConfChangeType = 4

// Errors of levels.
var (
	// ErrLevel is returned for a group whose level a server does not know.
	ErrLevel = errors.New("cluster: it needs a newer version of vigil")
	// ErrOlder is returned when a member has a version that knows no higher level.
	ErrOlder = errors.New("cluster: the member needs a newer version of vigil first")
	// ErrUnheard is returned when a member is not heard that has to tell which levels it knows.
	ErrUnheard = errors.New("cluster: the member is not heard")
	// errNewer is the error of what no version up to this one writes.
	errNewer = fmt.Errorf("a newer version of vigil may have written it: %w", grouplog.ErrCorrupt)
)

// levelError says that a server cannot take part in a group.
func levelError(has, knows uint64) error {
	return fmt.Errorf("the group has level %d, and the server knows levels up to %d: %w", has, knows, ErrLevel)
}

// EffectiveLevel returns the level of the group.
func (m *Members) EffectiveLevel() uint64 { return max(persistence.LevelUntold, m.Level) }

// named is a member as operators know it.
func (m *Members) named(id uint64) string {
	if address := m.Addresses[id]; address != "" {
		return fmt.Sprintf("member %d at %s", id, address)
	}
	return fmt.Sprintf("member %d", id)
}

// ofMembers returns what a change is to raft: one of the level changes no member.
func ofMembers(cc *raftpb.ConfChangeV2) *raftpb.ConfChangeV2 {
	if raisesTo(cc) == 0 {
		return cc
	}
	return &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeUpdateNode, raft.None)}}
}

// raisesTo returns the level that a change raises the group to, 0 for another change.
func raisesTo(cc *raftpb.ConfChangeV2) uint64 {
	if c := cc.GetChanges(); len(c) == 1 && c[0].GetType() == changesLevel {
		return c[0].GetNodeId()
	}
	return 0
}

// foundingLevel is the entry at index by which a group of one founder begins with the newest level. Several founders
// write the first entries each by itself, and may be of different versions: the first leader raises the level, see
// Runner.raiseAtFirst.
func (r *Replica) foundingLevel(founders []Peer, index uint64) (entries []*raftpb.Entry) {
	if len(founders) > 1 || r.NewestLevel() < persistence.LevelTold {
		return nil
	}
	kind, data, err := raftpb.MarshalConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(changesLevel, r.NewestLevel())}})
	if err != nil {
		panic(err) // of a message of three numbers
	}
	term := uint64(foundingTerm)
	return []*raftpb.Entry{{Term: &term, Index: &index, Type: &kind, Data: data}}
}

// within returns ErrLevel for members of a group whose level is above the newest one that a server knows.
func (m *Members) within(newest uint64) error {
	if m.EffectiveLevel() > newest {
		return levelError(m.EffectiveLevel(), newest)
	}
	return nil
}

// Reads implements [member.Reader].
func (p *Proposals) Reads(members grouplog.Membership, newest uint64) error {
	m, err := DecodeMembers(members.Index, members.Members)
	if err != nil {
		return err
	}
	return m.within(newest)
}

// knows returns ErrLevel for an entry that raises the level beyond what this member knows. It is not applied: a newer version goes on
// from there.
func (d *Driver) knows(e *raftpb.Entry, cc *raftpb.ConfChangeV2) error {
	if to, knows := raisesTo(cc), d.Log.NewestLevel(); to > knows {
		return fmt.Errorf("entry %d: %w", e.GetIndex(), levelError(to, knows))
	}
	return nil
}

// knowsState returns ErrLevel, and drops the state, if that is of a group whose level this member does not know.
func (d *Driver) knowsState(in *member.Import) error {
	m, err := DecodeMembers(in.Members().Index, in.Members().Members)
	if err == nil {
		err = m.within(d.Log.NewestLevel())
	}
	if err == nil {
		return nil
	}
	d.drop()
	return fmt.Errorf("the state as of entry %d is not taken in: %w", in.Index, err)
}

// admits returns ErrLevel for a server that does not know the level of the group that it is to join, which this member
// leads. While the level is being raised no change of the members is proposed.
func (d *Driver) admits(newest uint64) error {
	if has := d.Members().EffectiveLevel(); d.leads() && newest < has {
		return fmt.Errorf("a server joins: %w", levelError(has, newest))
	}
	return nil
}

// newestOf returns the newest level that a member knows, 0 for one that was not heard.
func (d *Driver) newestOf(id uint64) uint64 {
	if id == d.ID || d.NewestLevel == nil {
		return d.Log.NewestLevel()
	}
	return d.NewestLevel(id)
}

// raisable returns the level of the group, and the newest one that all members know. heard says which members are there:
// what others have said may not be so any more. The error is ErrUnheard or ErrOlder for one that is in the way, or that of mayChange.
func (d *Driver) raisable(heard func(id uint64) bool) (from, to uint64, err error) {
	m, err := d.mayChange()
	if err != nil {
		return 0, 0, fmt.Errorf("raise the level: %w", err)
	}
	from, to = m.EffectiveLevel(), d.Log.NewestLevel()
	newest, least := to, d.ID
	var silent uint64
	for _, id := range m.IDs() {
		knows := d.newestOf(id)
		if id != d.ID && (knows == 0 || !heard(id)) {
			silent = id
			continue
		}
		newest = max(newest, knows)
		if knows < to {
			to, least = knows, id
		}
	}
	switch {
	case newest <= from:
		return from, from, nil
	case silent != 0:
		return from, from, fmt.Errorf("%s: %w", m.named(silent), ErrUnheard)
	case to <= from:
		return from, from, fmt.Errorf("%s knows levels up to %d, and others level %d: %w", m.named(least), to, newest, ErrOlder)
	}
	return from, to, nil
}

// Upgrade raises the level of the group to the newest one that all members know, and returns when that is proposed. from and to
// are equal if there is nothing to do; see raisable.
func (d *Driver) Upgrade(heard func(id uint64) bool) (from, to uint64, err error) {
	from, to, err = d.raisable(heard)
	if err == nil && to > from {
		err = d.proposeChange(raftpb.ConfChangeTransitionAuto, "", single(changesLevel, to))
	}
	return from, to, err
}

// Upgrade raises the level of the group to the newest one that all members know, and returns when the group has agreed on
// that. With dry it says only what it would do.
func (r *Runner) Upgrade(ctx context.Context, dry bool) (from, to uint64, err error) {
	if dry {
		err = ErrStopped
		r.ask(func() { from, to, err = r.driver.raisable(r.driver.active) })
		return from, to, err
	}
	err = r.change(ctx, func(d *Driver) (err error) {
		from, to, err = d.Upgrade(r.driver.active)
		return err
	}, func(m *Members) bool { return m.EffectiveLevel() >= to })
	return from, to, err
}

// raiseAtFirst raises the level to the newest one, at the leader of a group that several servers have just founded, as soon as it
// hears that all of them know that. Once one of an older version is there, this is left to Upgrade.
func (r *Runner) raiseAtFirst() {
	d := r.driver
	if !r.replica.young {
		return
	}
	newest := r.replica.NewestLevel()
	for _, id := range r.replica.Members().IDs() {
		if knows := d.newestOf(id); knows != 0 && knows < newest {
			r.replica.young = false
		}
	}
	if r.replica.Members().EffectiveLevel() >= newest {
		r.replica.young = false
	}
	if !r.replica.young || !d.leads() {
		return
	}
	if _, _, err := d.Upgrade(r.driver.active); err != nil && !errors.Is(err, ErrUnheard) && !Transient(err) {
		r.config.Logf(logs.Info, "%v", err)
	}
}
