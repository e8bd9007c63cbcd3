package admin

import (
	"bytes"
	"fmt"
	"math"

	"github.com/vigildb/vigil/commands"
)

// MemoryFigure is one line of MEMORY STATS.
type MemoryFigure struct {
	Name  string
	Value int64   // unless Ratio is set
	Ratio float64 // not zero: the figure is a ratio or a percentage
}

func memoryRows() []commands.Command {
	return []commands.Command{
		{Name: "MEMORY", Arity: -2, Since: "4.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about memory."},
		{Name: "MEMORY USAGE", Arity: -3, Flags: commands.ReadOnly, Keys: []commands.KeySpec{commands.Key(2, commands.RO)},
			Syntax: "key [SAMPLES count]", Since: "4.0.0", Cost: "O(1)",
			Summary: "Estimates the bytes that a key and its value take.", Run: memoryUsage},
		{Name: "MEMORY STATS", Arity: 2, Tips: "nondeterministic_output request_policy:all_shards response_policy:special", Since: "4.0.0", Cost: "O(1)",
			Summary: "Returns what the memory is used for.", Run: memoryStats},
		{Name: "MEMORY DOCTOR", Arity: 2, Tips: "nondeterministic_output request_policy:all_shards response_policy:special", Since: "4.0.0", Cost: "O(1)",
			Summary: "Describes problems of memory use, if there are any.", Run: memoryDoctor},
		{Name: "MEMORY MALLOC-STATS", Arity: 2, Tips: "nondeterministic_output request_policy:all_shards response_policy:special", Since: "4.0.0", Cost: "O(1)",
			Summary: "Returns the statistics of the memory allocator.", Run: memoryMallocStats},
		{Name: "MEMORY PURGE", Arity: 2, Tips: "request_policy:all_shards response_policy:all_succeeded", Since: "4.0.0", Cost: "Depends on the memory in use.",
			Summary: "Returns unused memory to the operating system.", Run: memoryPurge},
		commands.Help("MEMORY", "4.0.0", commands.Loading|commands.Stale),
	}
}

// memoryUsage reads SAMPLES only to report errors: sizes are stored, not
// sampled.
func memoryUsage(c *commands.Ctx) error {
	key := c.Args.Key()
	for c.Args.More() {
		if c.Args.Word() != "SAMPLES" || !c.Args.More() {
			return commands.ErrSyntax
		}
		c.Args.IntIn(math.MinInt64, math.MaxInt64, commands.ErrNotInteger)
		if last := c.Args.All()[len(c.Args.All())-c.Args.Left()-1]; len(last) > 0 && last[0] == '-' {
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if n, ok := c.Tx.Usage().Bytes(key); ok {
		c.Reply.Int(n)
		return nil
	}
	c.Reply.Null()
	return nil
}

func memoryStats(c *commands.Ctx) error {
	figures := c.Host.(Statistics).Memory()
	c.Reply.Map(len(figures))
	for _, f := range figures {
		c.Reply.BulkString(f.Name)
		if f.Ratio != 0 {
			c.Reply.Double(f.Ratio)
		} else {
			c.Reply.Int(f.Value)
		}
	}
	return nil
}

// fragmented is how much more memory than in use the process may hold before
// MEMORY DOCTOR mentions it, and tinyStore the size below which it is not
// worth mentioning.
const (
	fragmented = 1.5
	tinyStore  = 64 << 20
)

func memoryDoctor(c *commands.Ctx) error {
	figures := map[string]MemoryFigure{}
	for _, f := range c.Host.(Statistics).Memory() {
		figures[f.Name] = f
	}
	used, ratio := figures["total.allocated"].Value, figures["fragmentation"].Ratio
	text := fmt.Sprintf("The memory is in order: %d bytes in use, the process holds %.2f times that.\n", used, ratio)
	switch {
	case used < tinyStore:
		text = fmt.Sprintf("There is little to say: %d bytes in use.\n", used)
	case ratio > fragmented:
		text = fmt.Sprintf("The process holds %.2f times the %d bytes in use. MEMORY PURGE gives back what can be given.\n", ratio, used)
	}
	c.Reply.Verbatim("txt", []byte(text))
	return nil
}

func memoryMallocStats(c *commands.Ctx) error {
	var b bytes.Buffer
	for _, f := range c.Host.(Statistics).Memory() {
		if f.Ratio != 0 {
			fmt.Fprintf(&b, "%s: %.4g\n", f.Name, f.Ratio)
		} else {
			fmt.Fprintf(&b, "%s: %d\n", f.Name, f.Value)
		}
	}
	c.Reply.Verbatim("txt", b.Bytes())
	return nil
}

func memoryPurge(c *commands.Ctx) error {
	c.Host.(Debug).FreeMemory()
	c.Reply.OK()
	return nil
}
