package conf

// nearest is the directive whose name needs the fewest changes of a letter to
// become name, or empty if all need more than a third of its length.
func (c *Config) nearest(name string) string {
	best, least := "", len(name)/3+2
	try := func(candidate string) {
		if d := distance(name, candidate, least); d < least {
			best, least = candidate, d
		}
	}
	if len(name) > 64 {
		return ""
	}
	for i := range c.rows {
		try(c.rows[i].name)
		if c.rows[i].alias != "" {
			try(c.rows[i].alias)
		}
	}
	for _, special := range []string{"include", "user", "rename-command", "loadmodule"} {
		try(special)
	}
	return best
}

// distance is the number of letters to insert, remove, replace or exchange
// with their neighbour to turn a into b (optimal string alignment), or limit
// if it is not less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(next[j-1]+1, row[j]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], above[j-2]+1)
			}
		}
		above, row, next = row, next, above
	}
	return min(row[len(b)], limit)
}
