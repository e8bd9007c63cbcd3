package acl

import (
	"maps"
	"slices"
	"strings"
)

// The members of a group keep their users with the data. A change that a command makes is
// kept before it takes effect; one that comes with the data of another member is taken over.

// Keep is told of changes before they take effect, and of one after the other. If it returns an error
// nothing changes. It does not call Users.
type Keep func(*Changes) error

// Changes is users whose rules are about to change.
type Changes struct {
	us    *Users
	rules map[string]*Rules // nil for one that is deleted
}

// Line is a user as files hold it: its name, and its rules.
type Line struct {
	Name, Rules string
	Deleted     bool // there is no such user any more
}

// Lines is what changes, by name. Rules that stay as they are are left out.
func (c *Changes) Lines() []Line {
	var lines []Line
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		r, u := c.rules[name], c.us.byName[name]
		switch {
		case r == nil:
			lines = append(lines, Line{Name: name, Deleted: true})
		case u == nil || u.Rules().String() != r.String():
			lines = append(lines, Line{Name: name, Rules: r.String()})
		}
	}
	return lines
}

// All is all users as they will be, by name.
func (c *Changes) All() []Line {
	lines := slices.DeleteFunc(c.Lines(), func(l Line) bool { return l.Deleted })
	for name, u := range c.us.byName {
		if r, changes := c.rules[name]; !changes || r != nil && r.String() == u.Rules().String() {
			lines = append(lines, Line{Name: name, Rules: u.Rules().String()})
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.Name, b.Name) })
	return lines
}

// changeLocked gives users other rules, creates or, with nil, deletes them. It returns those that are no more.
func (us *Users) changeLocked(rules map[string]*Rules, keep Keep) (deleted []*User, err error) {
	if keep != nil {
		if err := keep(&Changes{us, rules}); err != nil {
			return nil, err
		}
	}
	for name, r := range rules {
		if u := us.putLocked(name, r); u != nil && r == nil {
			deleted = append(deleted, u)
		}
	}
	return deleted, nil
}

// putLocked gives a user rules, and returns the user if there was one. With nil it is deleted; the default user
// may do nothing then.
func (us *Users) putLocked(name string, r *Rules) *User {
	u := us.byName[name]
	switch {
	case u == nil && r != nil:
		us.byName[name] = newUser(name, r)
	case u == nil:
	case r != nil:
		u.rules.Store(r)
	case u == us.deflt:
		u.rules.Store(us.disabled())
	default:
		us.deleteLocked(u)
	}
	return u
}

// Remember notes the present users as those to which Take goes back when none are kept.
func (us *Users) Remember() {
	us.mu.Lock()
	defer us.mu.Unlock()
	us.declared = map[string]*Rules{}
	for name, u := range us.byName {
		us.declared[name] = u.Rules()
	}
}

// Take makes users of what is kept, rules by name: those with the names in changed or, with nil, all. It returns the
// users that are no more and, with nil, those whose rules have become others: a password may have let their clients in that
// does not count any more. bad is called for rules that cannot be read: their user may do nothing.
func (us *Users) Take(kept map[string]string, changed []string, bad func(name string, err error)) (lost []*User) {
	us.mu.Lock()
	defer us.mu.Unlock()
	names := changed
	if changed == nil {
		all := map[string]*Rules{}
		maps.Copy(all, us.declared)
		for name := range kept {
			all[name] = nil
		}
		for name := range us.byName {
			all[name] = nil
		}
		names = slices.Collect(maps.Keys(all))
	}
	for _, name := range names {
		text, ok := kept[name]
		u, r := us.byName[name], (*Rules)(nil)
		switch {
		case len(kept) == 0:
			r = us.declared[name]
		case ok && u != nil && u.Rules().String() == text:
			r = u.Rules()
		case ok:
			r = us.read(name, text, bad)
		}
		if u != nil && u.Rules() == r {
			continue
		}
		if us.putLocked(name, r); u != nil && (r == nil || changed == nil) {
			lost = append(lost, u)
		}
	}
	return lost
}

// read makes rules of what is kept of them.
func (us *Users) read(name, text string, bad func(name string, err error)) *Rules {
	r := newRules(us.catalog, us.allChannels())
	if err := us.apply(r, strings.Split(text, " ")); err != nil {
		bad(name, plain(err))
		return us.disabled()
	}
	return r
}

// disabled are the rules of a user that may do nothing.
func (us *Users) disabled() *Rules {
	r := newRules(us.catalog, false)
	r.seal()
	return r
}
