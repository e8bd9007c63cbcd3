package conf

import "strings"

// userRow stands for the row of "user" lines, which are no directive of the table.
const userRow = -1

// UserLine is a "user" line of a file: the name and the rules of a user. The server
// says whether the rules are right.
type UserLine struct {
	Words []string // after the first
	at    *LoadError
}

// Mistake is the error of a line that is wrong, with its place.
func (u *UserLine) Mistake(why error) error {
	at := *u.at
	return at.because(why)
}

// DescribeUsers registers what returns the "user" lines of a rewritten file. Without it
// a rewritten file has those that were loaded.
func (c *Config) DescribeUsers(lines func() []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.describe = lines
}

// userLinesLocked are the lines without their first word.
func (c *Config) userLinesLocked() []string {
	var lines [][]string
	if c.mu.describe == nil {
		for _, u := range c.mu.users {
			lines = append(lines, u.Words)
		}
	} else {
		for _, line := range c.mu.describe() {
			lines = append(lines, strings.Split(line, " ")[1:])
		}
	}
	var out []string
	for _, words := range lines {
		shown := make([]string, len(words))
		for i, word := range words {
			if shown[i] = word; needsQuotes(word) {
				shown[i] = quote(word)
			}
		}
		out = append(out, strings.Join(shown, " "))
	}
	return out
}

// needsQuotes reports whether a word would be read otherwise than it stands.
func needsQuotes(word string) bool {
	return word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\'
	})
}
