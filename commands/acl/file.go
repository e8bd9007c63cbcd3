//lint:file-ignore ST1005 the texts of bad lines are Redis's

package acl

import (
	"errors"
	"fmt"
	"strings"
)

// File is what the users' file has: a line for each user, as in ACL LIST.
func (us *Users) File() []byte {
	return []byte(strings.Join(us.Lines(), "\n") + "\n")
}

// Load replaces all users by those of a file with this name and text. If anything is
// wrong with it, nothing changes and the error names every line that is wrong. It
// returns the users who are no more. password is that of the default user if the file
// does not declare it.
func (us *Users) Load(file string, text []byte, password string, keep Keep) (deleted []*User, err error) {
	us.mu.Lock()
	defer us.mu.Unlock()
	rules, err := us.readFileLocked(file, string(text))
	if err != nil {
		return nil, err
	}
	if rules[defaultName] == nil {
		r := us.initial()
		r.setPassword(password)
		rules[defaultName] = r
	}
	for name := range us.byName {
		if rules[name] == nil {
			rules[name] = nil // which deletes it
		}
	}
	return us.changeLocked(rules, keep)
}

// readFileLocked reads the lines of a file.
func (us *Users) readFileLocked(file, text string) (map[string]*Rules, error) {
	rules := map[string]*Rules{}
	var wrong strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		if err := us.readLineLocked(rules, line, fmt.Sprintf("%s:%d", file, i+1)); err != nil {
			fmt.Fprintf(&wrong, "%v ", err)
		}
	}
	if wrong.Len() > 0 {
		return nil, errors.New(wrong.String() + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return rules, nil
}

// readLineLocked reads the user of one line, which stands at a place.
func (us *Users) readLineLocked(rules map[string]*Rules, line, place string) error {
	words := strings.Split(line, " ")
	if words[0] != "user" || len(words) < 2 {
		return fmt.Errorf("%s should start with user keyword followed by the username.", place)
	}
	name := words[1]
	switch {
	case hasSpaces(name):
		return fmt.Errorf("'%s: username '%s' contains invalid characters.", place, name)
	case rules[name] != nil:
		_, number, _ := strings.Cut(place[strings.LastIndexByte(place, ':'):], ":")
		return fmt.Errorf("WARNING: Duplicate user '%s' found on line %s.", name, number)
	case len(rules) >= maxUsers:
		return fmt.Errorf("%s: there are too many users.", place)
	}
	r := newRules(us.catalog, us.allChannels())
	rules[name] = r
	merged, err := mergeSelectors(words[2:])
	if err != nil {
		return fmt.Errorf("%s: %w", place, plain(err))
	}
	return us.readRules(r, merged, place)
}

// readRules applies the rules of a line. All unknown commands are named, and of other
// mistakes the first, without its words: they may be a password.
func (us *Users) readRules(r *Rules, rules []string, place string) error {
	var wrong []string
	hidden := false
	for _, rule := range rules {
		rule = strings.Trim(rule, "\t\r\n")
		err := us.applyOne(r, rule)
		switch {
		case err == nil:
		case err == errUnknownName:
			wrong = append(wrong, fmt.Sprintf("%s: Error in applying operation '%s': %s.", place, rule, err))
		case !hidden:
			hidden = true
			wrong = append(wrong, fmt.Sprintf("%s: %s.", place, err))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, " "))
	}
	r.seal()
	return nil
}
