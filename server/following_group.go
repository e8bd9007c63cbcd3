package server

import (
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// A group follows a master by the member that leads it: the master's changes go through the log with how far they have got, so that
// the next leader goes on there. Whom to follow is in the log, too, as the shared directive replicaof.

// errDeposed is the error of what a leadership has begun that is over.
var errDeposed = errors.New("this member does not lead its group any more")

// current returns the reign: what is begun now is over when there is another one.
func (f *following) current() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reign
}

// activate says whether the keys are a master's, unless the reign is over: then it returns false.
func (f *following) activate(reign uint64, active bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reign != reign {
		return false
	}
	f.srv.store.SetFollowing(active)
	f.active.Store(active)
	return true
}

// lead goes on following when this member is about to lead. It waits for nothing.
func (f *following) lead() {
	if f.srv.settings().conf.MasterHost == "" {
		return
	}
	reign := f.current()
	f.activate(reign, true)
	f.srv.workers.Go(func() { f.resume(reign) }) // ends when that has begun
}

// resume connects to the master, unless a client has changed the role first. If the master is so quick that this member does not lead
// yet when it has something to apply, the connection is made again.
func (f *following) resume(reign uint64) {
	f.change.Lock()
	defer f.change.Unlock()
	if set := f.srv.settings().conf; set.MasterHost != "" && f.now.Load() == nil {
		f.begin(reign, set.MasterHost, set.MasterPort, nil)
	}
}

// resign ends following when this member has ceased to lead: the next leader goes on. It waits for nothing.
func (f *following) resign() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reign++
	f.srv.store.SetFollowing(false)
	f.active.Store(false)
	if now := f.now.Swap(nil); now != nil {
		f.srv.workers.Go(now.Stop)
	}
}

// lockToChange is lockBackstage for a leadership: its error is errDeposed when that is over.
func (s *session) lockToChange(ctx context.Context, set *persistence.Shards, reign uint64) error {
	if err := s.lockBackstage(ctx, set); err != nil {
		return err
	}
	if err := s.reigns(reign); err != nil {
		s.release()
		return err
	}
	return nil
}

// reigns returns errDeposed if a leadership is over. Shards are locked.
func (s *session) reigns(reign uint64) error {
	if s.srv.opts.Group != nil && (!s.tx.Writable() || s.srv.following.current() != reign) {
		return errDeposed
	}
	return nil
}

// rememberInGroup gives the group the directive replicaof.
func (f *following) rememberInGroup(reign uint64, text string) (lsn uint64, err error) {
	srv := f.srv
	lsn, failed := srv.lockAll(reign, func(s *session) {
		if err = s.tx.Require(persistence.LevelDatabases); err == nil {
			s.tx.Texts(persistence.Directives).Set(replicaOf, text)
			s.sharing.kept = true
			srv.takeConfiguration(map[string]string{replicaOf: text}, []string{replicaOf})
		}
	})
	return lsn, errors.Join(err, failed)
}

// forgetInGroup takes it from the group. s has all shards locked.
func (f *following) forgetInGroup(s *session) {
	if f.srv.opts.Group == nil {
		return
	}
	s.tx.Texts(persistence.Directives).Delete(replicaOf)
	s.sharing.kept = true
	f.srv.takeConfiguration(nil, []string{replicaOf})
}

// errRoleInCluster is Redis's.
const errRoleInCluster = commands.WireError("ERR REPLICAOF not allowed in cluster mode.")

// checkIncomplete refuses a call that needs keys while a part of a master's data is there.
func (a *admission) checkIncomplete(cmd *commands.Command) error {
	if !a.s.srv.store.Incomplete() || a.s.applies {
		return nil
	}
	if a.effects(cmd)&(commands.Write|commands.ReadOnly|commands.Keyspace|commands.RunsScripts) != 0 || len(cmd.Keys) > 0 {
		return commands.ErrLoading
	}
	return nil
}
