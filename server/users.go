package server

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/server/conf"
)

// users are those of a server, and what was refused to them.
type users struct {
	srv *Server
	*acl.Users
	watcher  *acl.User // of observers
	refusals acl.Log
}

// watcherRules are those of observers: they see everything and change nothing.
var watcherRules = []string{"on", "~*", "&*", "+@all", "-@write"}

// refusalFields are the counters of refused calls in INFO.
var refusalFields = []struct {
	name   string
	reason acl.Reason
}{
	{"acl_access_denied_auth", acl.DeniedAuth}, {"acl_access_denied_cmd", acl.DeniedCommand},
	{"acl_access_denied_key", acl.DeniedKey}, {"acl_access_denied_channel", acl.DeniedChannel},
	{"acl_access_denied_tls_cert", acl.DeniedCertificate}, {"acl_access_denied_db", acl.DeniedDatabase},
}

var errUsersTwice = errors.New("users are declared in the configuration file and there is an aclfile too: declare them in one of the two")

// open makes the users that the configuration declares. Nothing is served if any of
// them is wrong.
func (u *users) open() error {
	srv := u.srv
	set := srv.settings().conf
	u.Users = acl.NewUsers(srv.table, func() bool { return !srv.settings().conf.ACLResetChannels })
	var err error
	if u.watcher, err = u.Unlisted("observer", watcherRules); err != nil {
		return fmt.Errorf("rules of observers: %w", err)
	}
	if err := u.SetPassword(set.RequirePass, nil); err != nil {
		return err
	}
	if set.ACLFile != "" && len(set.Users) > 0 {
		return set.Users[0].Mistake(errUsersTwice)
	}
	seen := map[string]bool{}
	for i := range set.Users {
		line := &set.Users[i]
		if err := u.Declare(line.Words, seen); err != nil {
			//lint:ignore ST1005 the text is Redis's
			return line.Mistake(fmt.Errorf("Error in user declaration '%s': %w", line.Words[0], err))
		}
	}
	if set.ACLFile != "" {
		if _, err := u.load(nil); err != nil {
			return fmt.Errorf("users are not loaded: %w", err)
		}
	}
	u.Remember()
	srv.shared.declaredPass, srv.shared.most = set.RequirePass, maxUserBytes
	srv.config.DescribeUsers(u.lines)
	return nil
}

// lines are the users for CONFIG REWRITE: none if they have a file of their own.
func (u *users) lines() []string {
	set := u.srv.settings().conf
	if set.ACLFile != "" {
		return nil
	}
	return u.LinesBeside(set.RequirePass)
}

// path is where the users' file is.
func (u *users) path() string {
	file := u.srv.settings().conf.ACLFile
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(u.srv.settings().dir, file)
}

// load replaces all users by those of the file, and returns those that are no more.
func (u *users) load(keep acl.Keep) (deleted []*acl.User, err error) {
	set := u.srv.settings().conf
	text, err := conf.ReadFile(u.path())
	if err != nil {
		//lint:ignore ST1005 the text is Redis's
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %w", set.ACLFile, err)
	}
	return u.Load(set.ACLFile, text, set.RequirePass, keep)
}

// UsersFile is the directive aclfile.
func (h host) UsersFile() string { return h.srv.settings().conf.ACLFile }

// LoadUsers reads the file. If it returns an error nothing has changed.
func (a *access) LoadUsers(c *commands.Ctx) error {
	deleted, err := a.s.srv.users.load(a.s.sharing.KeepUsers)
	if err != nil {
		return err
	}
	a.Revoke(c, deleted)
	return nil
}

// SaveUsers replaces the file.
func (h host) SaveUsers() error {
	if err := conf.ReplaceFile(h.srv.users.path(), h.srv.users.File()); err != nil {
		h.srv.logf(logWarning, "ACL SAVE: %v", err)
		return err
	}
	return nil
}
