package resharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// Moves that are to be made are kept with the data of the group from the moment that they are ordered: which slots are to go
// where. How far a move has come need not be kept, as it shows in who has the slots. ADR 0071.

// text is what is kept of a job: see docs/format.md.
func (j *job) text() string {
	return fmt.Sprintf("%s %s %d %s", j.Shard, j.Node, j.Created, j.Destination.Slots)
}

// key is what a job is kept under: its name, and the ID of its task if it has one.
func (j *job) key() string {
	if j.Task == "" {
		return j.Name
	}
	return j.Name + "-" + j.Task
}

// jobOf reads what text wrote, and was kept under key.
func jobOf(key, text string) (*job, error) {
	name, task, _ := strings.Cut(key, "-")
	words := strings.SplitN(text, " ", 4)
	if len(words) != 4 {
		return nil, fmt.Errorf("it has %d words", len(words))
	}
	created, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return nil, err
	}
	of, err := slots.Parse(words[3])
	if err != nil {
		return nil, err
	}
	j := newJob(name, cluster.Destination{Shard: words[0], Node: words[1], Slots: of}, created)
	j.Task = task
	return j, nil
}

func newJob(name string, d cluster.Destination, created int64) *job {
	return &job{Move: cluster.Move{Name: name, Destination: d, State: cluster.MoveWaits, Created: created, Updated: created,
		Slots: d.Slots.Len()}, left: d.Slots}
}

// number is that of the job's name, which says which one was ordered first.
func (j *job) number() uint64 {
	n, _ := strconv.ParseUint(j.Name, 10, 64)
	return n
}

// jobsOf reads all that is kept, in the order in which it was ordered. What a later version has written is left out.
func (v *Moves) jobsOf(kept map[string]string) (all []*job) {
	for key, text := range kept {
		j, err := jobOf(key, text)
		if err != nil {
			v.o.Logf(persistence.LevelWarn, "The move %.40q of slots is not understood: %v", key, err)
			continue
		}
		j.kept = true
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.number(), b.number()) })
	return all
}

// change changes which moves are kept, and returns when the group has agreed on that. A group that may have members of a
// version which does not read them keeps none: keeps is false. do is called with the lock of the texts.
func (v *Moves) change(do func(tx *persistence.Tx, keeps bool)) error {
	tx := v.o.Store.NewTx()
	var set persistence.Shards
	set.AddTexts()
	if err := v.keys.Lock(v.o.Done, tx, &set); err != nil {
		return err
	}
	err := error(persistence.ErrNotLeader)
	if tx.Writable() {
		err = nil
		do(tx, tx.Require(persistence.LevelTold) == nil)
	}
	err = errors.Join(err, tx.Err())
	position := tx.Commit()
	tx.Unlock()
	if err != nil || position == 0 {
		return err
	}
	return v.o.Durable(position)
}

// forget removes a move that is over from those that are kept, unless it is the next leader's. If the group does not agree,
// the next leader finds that nothing is left of it, or fails as well.
func (v *Moves) forget(j *job) {
	if !j.kept || context.Cause(j.ctx) != nil {
		return
	}
	if err := v.change(func(tx *persistence.Tx, _ bool) { tx.Texts(persistence.Moves).Delete(j.key()) }); err != nil {
		v.o.Logf(persistence.LevelDebug, "The move %s of slots is over, and the group does not note that: %v", j.Name, err)
	}
}
