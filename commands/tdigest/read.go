package tdigest

import (
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/tdigest"
)

func readRows() []commands.Command {
	read := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	row := func(name string, arity int, syntax, cost, summary string, run func(*commands.Ctx) error) commands.Command {
		return commands.Command{Name: name, Arity: arity, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: syntax, Since: "2.4.0",
			Cost: cost, Summary: summary, Run: run}
	}
	const each = "O(n * c) for n of them and compression c"
	slow := row("TDIGEST.TRIMMED_MEAN", 4, "key low_cut_quantile high_cut_quantile", "O(c) for compression c", "Returns the mean of the values between two quantiles.", trimmedMean)
	slow.Flags, slow.Types = commands.ReadOnly, commands.Types{"low_cut_quantile": commands.ArgDouble, "high_cut_quantile": commands.ArgDouble}
	rows := []commands.Command{
		row("TDIGEST.MIN", 2, "key", "O(1)", "Returns the least value of a t-digest.", least),
		row("TDIGEST.MAX", 2, "key", "O(1)", "Returns the greatest value of a t-digest.", greatest),
		row("TDIGEST.QUANTILE", -3, "key quantile [quantile ...]", each, "Returns the values below which given parts of all values are.", quantile),
		row("TDIGEST.CDF", -3, "key value [value ...]", each, "Returns which parts of all values are below given ones.", cdf),
		row("TDIGEST.RANK", -3, "key value [value ...]", each, "Returns how many values are below given ones.", rank),
		row("TDIGEST.REVRANK", -3, "key value [value ...]", each, "Returns how many values are above given ones.", revRank),
		row("TDIGEST.BYRANK", -3, "key rank [rank ...]", each, "Returns the values below which given numbers of values are.", byRank),
		row("TDIGEST.BYREVRANK", -3, "key reverse_rank [reverse_rank ...]", each, "Returns the values above which given numbers of values are.", byRevRank),
		slow,
		row("TDIGEST.INFO", 2, "key", "O(1)", "Returns the parameters and the size of a t-digest.", info),
	}
	for i := range rows {
		for name, argument := range map[string]commands.ArgType{"quantile": commands.ArgDouble, "value": commands.ArgDouble, "reverse_rank": commands.ArgInteger} {
			if strings.HasPrefix(rows[i].Syntax, "key "+name+" ") {
				rows[i].Types = commands.Types{name: argument}
			}
		}
	}
	return rows
}

// view finds a digest to read.
func view(c *commands.Ctx, key []byte) (*tdigest.Digest, error) {
	return commands.ViewExisting[*tdigest.Digest](c, key, errNoKey)
}

// look finds what is read of a digest.
func look(c *commands.Ctx, key []byte) (*tdigest.Snapshot, error) {
	d, err := view(c, key)
	if err != nil {
		return nil, err
	}
	s, ok := d.Look()
	if !ok {
		return nil, c.Tx.Err()
	}
	return s, nil
}

func least(c *commands.Ctx) error {
	s, err := look(c, c.Args.Key())
	if err == nil {
		v, _ := s.Range()
		c.Reply.Double(v)
	}
	return err
}

func greatest(c *commands.Ctx) error {
	s, err := look(c, c.Args.Key())
	if err == nil {
		_, v := s.Range()
		c.Reply.Double(v)
	}
	return err
}

// floats reads numbers in a digest's place or range. The error for what is none of them is bad.
func floats(c *commands.Ctx, bad error) (s *tdigest.Snapshot, values []float64, err error) {
	key, args := c.Args.Key(), c.Args.Rest()
	if s, err = look(c, key); err != nil {
		return nil, nil, err
	}
	values = make([]float64, len(args))
	for i, a := range args {
		v, ok := commands.ParseFloat(a)
		if !ok {
			return nil, nil, bad
		}
		values[i] = v
	}
	return s, values, nil
}

func quantile(c *commands.Ctx) error {
	s, values, err := floats(c, errQuantile)
	if err != nil {
		return err
	}
	for _, q := range values {
		if !(q >= 0 && q <= 1) {
			return errQuantileRange
		}
	}
	c.Reply.Array(len(values))
	for _, q := range values {
		c.Reply.Double(s.Quantile(q))
	}
	return nil
}

func cdf(c *commands.Ctx) error {
	s, values, err := floats(c, errCDF)
	if err != nil {
		return err
	}
	c.Reply.Array(len(values))
	for _, v := range values {
		c.Reply.Double(s.CDF(v))
	}
	return nil
}

func rank(c *commands.Ctx) error    { return ranks(c, (*tdigest.Snapshot).Rank) }
func revRank(c *commands.Ctx) error { return ranks(c, (*tdigest.Snapshot).RevRank) }

func ranks(c *commands.Ctx, of func(*tdigest.Snapshot, float64) int64) error {
	s, values, err := floats(c, errRankValue)
	if err != nil {
		return err
	}
	c.Reply.Array(len(values))
	for _, v := range values {
		c.Reply.Int(of(s, v))
	}
	return nil
}

func byRank(c *commands.Ctx) error    { return valuesByRank(c, (*tdigest.Snapshot).ByRank) }
func byRevRank(c *commands.Ctx) error { return valuesByRank(c, (*tdigest.Snapshot).ByRevRank) }

func valuesByRank(c *commands.Ctx, of func(*tdigest.Snapshot, int64) float64) error {
	key, args := c.Args.Key(), c.Args.Rest()
	s, err := look(c, key)
	if err != nil {
		return err
	}
	ranks := make([]int64, len(args))
	for i, a := range args {
		n, ok := commands.ParseInt(a)
		switch {
		case !ok:
			return errRank
		case n < 0:
			return errRankRange
		}
		ranks[i] = n
	}
	c.Reply.Array(len(ranks))
	for _, n := range ranks {
		c.Reply.Double(of(s, n))
	}
	return nil
}

func trimmedMean(c *commands.Ctx) error {
	s, err := look(c, c.Args.Key())
	if err != nil {
		return err
	}
	low, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok {
		return errLowCut
	}
	high, ok := commands.ParseFloat(c.Args.Bytes())
	switch {
	case !ok:
		return errHighCut
	case !(low >= 0 && low <= 1 && high >= 0 && high <= 1):
		return errCutRange
	case low >= high:
		return errCutOrder
	}
	c.Reply.Double(s.TrimmedMean(low, high))
	return nil
}

func info(c *commands.Ctx) error {
	d, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	i := d.Info()
	fields := [...]struct {
		name  string
		value int64
	}{
		{"Compression", i.Compression}, {"Capacity", i.Capacity}, {"Merged nodes", i.Merged}, {"Unmerged nodes", i.Unmerged}, {"Merged weight", i.MergedWeight},
		{"Unmerged weight", i.UnmergedWeight}, {"Observations", i.Observations}, {"Total compressions", i.Compressions}, {"Memory usage", i.Bytes},
	}
	c.Reply.Map(len(fields))
	for _, field := range fields {
		c.Reply.Status(field.name)
		c.Reply.Int(field.value)
	}
	return nil
}
