package server

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/persistence"
)

// The members of a group have the same users from the moment that the first command changes
// one (ADR 0074): they are kept with the data. The leader changes them with the locks of the
// call that does, so that the order of the log is that of changes. A follower takes them over
// from the store, and so does every member when its memory is made anew, as after a rollback.

// sharedTexts is what a member of a group knows of the users and the directives that it shares.
type sharedTexts struct {
	changed      atomic.Uint64 // position of the last change made here; 0 for none in this leadership
	declaredPass string        // requirepass when the server started
	most         int           // maxUserBytes, or less in tests
}

// sharing is what a call has to do with these texts.
type sharing struct {
	s    *session
	kept bool // the call has changed some
	held bool // the call has their lock
}

// maxUserBytes bounds the names and rules of the users of a group: at first all of them are
// one record.
const maxUserBytes = 64 << 20

// changes reports whether a call, or one that EXEC runs, changes users or shared directives.
func (sh *sharing) changes(cmd *commands.Command, argv [][]byte) bool {
	if cmd.Is(commands.LocksQueue) {
		return slices.ContainsFunc(sh.s.transaction.queue, func(q queuedCall) bool { return sh.changesOne(q.cmd, q.argv) })
	}
	return sh.changesOne(cmd, argv)
}

func (sh *sharing) changesOne(cmd *commands.Command, argv [][]byte) bool {
	return cmd.Users != nil && cmd.Users(argv) || cmd.Directives != nil && sh.changesDirectives(cmd, argv)
}

// admit refuses a change of users or shared directives where a write is refused.
func (sh *sharing) admit() error {
	s := sh.s
	switch g := s.srv.opts.Group; {
	case s.srv.loading.Load():
		return commands.ErrLoading
	case g.Gone():
		return commands.ErrLeftGroup
	case s.srv.store.Member().Leads(): // also of a group that follows a master, whose users are its own
		return s.srv.unchangeable()
	case !g.Fresh(false):
		return commands.ErrClusterDown
	}
	return commands.ErrReadOnlyReplica
}

// KeepUsers keeps changes of users with the data of the group, if the server is in one: with the
// first of them all users. The call holds the lock of AddTexts.
func (sh *sharing) KeepUsers(c *acl.Changes) error {
	s := sh.s
	if s.srv.opts.Group == nil {
		return nil
	}
	lines := c.Lines()
	if err := s.tx.Err(); err != nil || len(lines) == 0 {
		return err
	}
	if s.tx.Texts(persistence.Users).Len() == 0 {
		lines = c.All()
	}
	for _, l := range lines {
		if !l.Deleted && acl.NamesDatabases(l.Rules) {
			if err := s.tx.Require(persistence.LevelTimed); err != nil {
				return err
			}
		}
	}
	bytes := s.tx.Texts(persistence.Users).Bytes()
	for _, l := range lines {
		bytes += len(l.Name) + len(l.Rules) - s.tx.Texts(persistence.Users).Size(l.Name)
		if l.Deleted {
			bytes -= len(l.Name)
		}
	}
	switch {
	case bytes > s.srv.shared.most:
		return acl.ErrUsersTooLarge
	case s.tx.RecordBytes() > maxTransaction:
		return commands.ErrQueueTooLong
	}
	for _, l := range lines {
		if l.Deleted {
			s.tx.Texts(persistence.Users).Delete(l.Name)
		} else {
			s.tx.Texts(persistence.Users).Set(l.Name, l.Rules)
		}
	}
	sh.kept = true
	return s.tx.Err()
}

// keepPassword gives the default user the requirepass that CONFIG SET gives the leader of a group.
func (sh *sharing) keepPassword(pairs []string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.EqualFold(pairs[i], "requirepass") {
			return sh.s.srv.users.SetPassword(pairs[i+1], sh.KeepUsers)
		}
	}
	return nil
}

// await makes the reply wait for the last change of users or shared directives, as one that shows a
// key waits for that of the key.
func (sh *sharing) await() {
	s := sh.s
	if at := s.srv.shared.changed.Load(); at != 0 && s.srv.store.Member().Leads() && !s.srv.store.Commits().Confirmed(at) {
		s.durability.read(at)
	}
}

// Users are all users.
func (sh *sharing) Users() *acl.Users {
	sh.await()
	return sh.s.srv.users.Users
}

// take takes users over from the store: some by name, or all with nil. It is called with all shards
// locked, or before the server takes part in its group.
func (u *users) take(users map[string]string, changed []string) {
	u.srv.shared.changed.Store(0)
	lost := u.Take(users, changed, func(name string, err error) {
		u.srv.logf(logWarning, "User %.100q of the group may do nothing here: %v", name, err)
	})
	u.revoke(nil, lost)
}

// recall makes the users those that the data has, if it has any.
func (u *users) recall() {
	if u.srv.opts.Group == nil {
		return
	}
	if users := u.srv.store.Texts(persistence.Users); len(users) > 0 {
		u.take(users, nil)
	}
}

// report says that users of the configuration do not count.
func (u *users) report() {
	srv := u.srv
	set := srv.settings().conf
	if declared := set.ACLFile != "" || len(set.Users) > 0 || set.RequirePass != ""; declared && srv.opts.Group != nil && len(srv.store.Texts(persistence.Users)) > 0 {
		srv.logf(logNotice, "The users are those of the group: aclfile, user and requirepass of the configuration do not count")
	}
}

// declare goes on with the users of the configuration, which the store has left to them.
func (u *users) declare() {
	srv := u.srv
	set := srv.settings().conf
	if set.RequirePass == srv.shared.declaredPass || len(srv.store.Texts(persistence.Users)) > 0 {
		return
	}
	if err := u.SetPassword(set.RequirePass, nil); err != nil {
		srv.logf(logWarning, "requirepass: %v", err)
	}
}
