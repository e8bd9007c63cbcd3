package acl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Limits of what one user may have. A rule beyond them is refused.
const (
	maxPatterns  = 10000 // key patterns, channels and first arguments of a selector, each
	maxPattern   = 64 << 10
	maxSelectors = 1000
	maxPasswords = 1000
)

// apply applies rules one after the other to r, which nobody else has seen.
func (us *Users) apply(r *Rules, rules []string) error {
	rules, err := mergeSelectors(rules)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := us.applyOne(r, rule); err != nil {
			return &ruleError{rule, err.(mistake)}
		}
	}
	r.seal()
	return nil
}

// mergeSelectors joins the words of selectors that are spread over several
// arguments: "(+get" and "~a)".
func mergeSelectors(words []string) ([]string, error) {
	var merged []string
	open := -1
	for i, word := range words {
		closed := strings.HasSuffix(word, ")")
		switch {
		case open < 0 && strings.HasPrefix(word, "(") && !closed:
			open = i
		case open < 0:
			merged = append(merged, word)
		case closed:
			merged = append(merged, strings.Join(words[open:i+1], " "))
			open = -1
		}
	}
	if open >= 0 {
		return nil, unmatchedError(words[open])
	}
	return merged, nil
}

// applyOne applies a rule about the user, or else to the user's own selector.
func (us *Users) applyOne(r *Rules, rule string) error {
	switch word := strings.ToLower(rule); word {
	case "":
	case "on", "off":
		r.enabled = word == "on"
	case "skip-sanitize-payload", "sanitize-payload":
		r.skipsSanitizing = word == "skip-sanitize-payload"
	case "nopass", "resetpass":
		r.noPass, r.passwords = word == "nopass", nil
	case "clearselectors":
		r.selectors = r.selectors[:1]
	case "reset":
		*r = *newRules(us.catalog, us.allChannels())
	default:
		return us.applyOther(r, rule)
	}
	return nil
}

func (us *Users) applyOther(r *Rules, rule string) error {
	switch rule[0] {
	case '>', '#', '<', '!':
		return r.password(rule[0], rule[1:])
	case '(':
		if strings.HasSuffix(rule, ")") {
			return us.addSelector(r, rule[1:len(rule)-1])
		}
	}
	return r.selectors[0].apply(us.catalog, rule)
}

// password adds or removes a password, which is given in clear or as its SHA-256.
func (r *Rules) password(sign byte, text string) error {
	d := digest(sha256.Sum256([]byte(text)))
	if sign == '#' || sign == '!' {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != len(d) || strings.ToLower(text) != text {
			return errBadHash
		}
		d = digest(sum)
	}
	at := slices.Index(r.passwords, d)
	if sign == '<' || sign == '!' {
		if at < 0 {
			return errNoSuchPassword
		}
		r.passwords = slices.Delete(r.passwords, at, at+1)
		return nil
	}
	if at < 0 {
		if len(r.passwords) >= maxPasswords {
			return errTooMany
		}
		r.passwords = append(r.passwords, d)
	}
	r.noPass = false
	return nil
}

// addSelector adds a selector with the rules between its parentheses. Redis reads
// quotes there; nothing that a selector may contain needs them. A pattern that ends with
// a parenthesis is refused: written to a file it would be the end of the selector.
func (us *Users) addSelector(r *Rules, text string) error {
	switch {
	case strings.ContainsAny(text, "\"'\x00"):
		return errRuleSyntax
	case len(r.selectors) > maxSelectors:
		return errTooMany
	}
	s := newSelector(us.catalog, us.allChannels())
	for _, word := range strings.Fields(text) {
		if strings.HasSuffix(word, ")") {
			return errRuleSyntax
		}
		if err := s.apply(us.catalog, word); err != nil {
			return err
		}
	}
	r.selectors = append(r.selectors, s)
	return nil
}

// apply applies a rule about commands, keys or channels.
func (s *selector) apply(cat *catalog, rule string) error {
	switch strings.ToLower(rule) {
	case "":
		return errRuleSyntax
	case "allkeys", "~*", "resetkeys":
		s.allKeys, s.keys = !equalFold([]byte(rule), "resetkeys"), nil
		return nil
	case "allchannels", "&*", "resetchannels":
		s.allChannels, s.channels = !equalFold([]byte(rule), "resetchannels"), nil
		return nil
	case "allcommands", "+@all", "nocommands", "-@all":
		s.setAll(rule[0] == '+' || equalFold([]byte(rule), "allcommands"))
		return nil
	case "alldbs", "resetdbs":
		s.someDatabases, s.databases = equalFold([]byte(rule), "resetdbs"), nil
		return nil
	}
	if len(rule) >= 3 && equalFold([]byte(rule[:3]), "db=") {
		return s.setDatabases(rule[3:])
	}
	switch rule[0] {
	case '~', '%':
		return s.addKeys(rule)
	case '&':
		return s.addChannels(rule[1:])
	case '+', '-':
		return s.applyCommand(cat, rule[0] == '+', rule[1:])
	}
	return errRuleSyntax
}

// addKeys adds a key pattern: ~pattern, or %R~, %W~ and %RW~.
func (s *selector) addKeys(rule string) error {
	if s.allKeys {
		return errKeysAfterAll
	}
	marks, text, ok := strings.Cut(rule, "~")
	may := readWrite
	if marks != "" {
		may = 0
		for _, c := range marks[1:] {
			p := map[rune]permission{'r': readKeys, 'R': readKeys, 'w': writeKeys, 'W': writeKeys}[c]
			if p == 0 || may&p != 0 {
				return errRuleSyntax
			}
			may |= p
		}
	}
	switch {
	case !ok || may == 0 || hasSpaces(text):
		return errRuleSyntax
	case len(text) > maxPattern:
		return errTooMany
	}
	for i := range s.keys {
		if s.keys[i].text == text {
			s.keys[i].may |= may
			return nil
		}
	}
	if len(s.keys) >= maxPatterns {
		return errTooMany
	}
	s.keys = append(s.keys, keyPattern{newPattern(text), may})
	return nil
}

func (s *selector) addChannels(text string) error {
	switch {
	case s.allChannels:
		return errChannelsAfterAll
	case hasSpaces(text):
		return errRuleSyntax
	case len(text) > maxPattern, len(s.channels) >= maxPatterns:
		return errTooMany
	}
	if !slices.ContainsFunc(s.channels, func(p pattern) bool { return p.text == text }) {
		s.channels = append(s.channels, newPattern(text))
	}
	return nil
}

// applyCommand allows or forbids a command, a subcommand, the commands of a category,
// or allows a command with one first argument.
func (s *selector) applyCommand(cat *catalog, on bool, what string) error {
	if category, ok := strings.CutPrefix(what, "@"); ok {
		category = strings.ToLower(category)
		rows, known := cat.category(category)
		if !known {
			return errUnknownName
		}
		for _, cmd := range rows {
			s.setCommand(cmd, on)
		}
		s.remember(on, "@"+category)
		return nil
	}
	if cmd := cat.find(what); cmd != nil {
		s.setCommand(cmd, on)
		s.remember(on, cmd.FullName())
		return nil
	}
	at := strings.LastIndexByte(what, '|')
	if !on || at < 0 {
		return errUnknownName
	}
	cmd, word := cat.find(what[:at]), what[at+1:]
	switch {
	case cmd == nil:
		return errUnknownName
	case cmd.Parent() != nil:
		return errFirstArgOfSub
	case word == "", hasSpaces(word):
		return errRuleSyntax
	case len(cmd.Subcommands()) > 0 && !cmd.Is(commands.OpenWords):
		return errUnknownName
	case len(word) > maxPattern, len(s.firstArgs[cmd.ID()]) >= maxPatterns:
		return errTooMany
	}
	s.allowFirstArg(cmd.ID(), strings.ToLower(word))
	s.remember(true, what)
	return nil
}
