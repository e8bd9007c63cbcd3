package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// settled waits until no slot is being moved and no key is at two groups, while nobody writes.
func (c *cluster) settled() error {
	least, most := 0, 0
	for _, w := range c.writers {
		for _, k := range w.keys {
			least, most = least+min(k.acked, 1), most+min(k.asked, 1)
		}
	}
	return c.until("all keys are where they belong", func() error {
		if err := c.whole(); err != nil {
			return err
		}
		keys := 0
		for i := range c.nodes {
			n, err := c.size(i)
			if err != nil {
				return err
			}
			keys += n
		}
		if keys < least || keys > most {
			return fmt.Errorf("%d keys are there, of %d to %d", keys, least, most)
		}
		return nil
	})
}

// size returns how many keys a master has, 0 for other servers. While slots move that is an error.
func (c *cluster) size(i int) (keys int, err error) {
	var said [3]string
	for k, call := range [3]string{"INFO replication", "CLUSTER GETSLOTMIGRATIONS", "DBSIZE"} {
		if said[k], err = c.ask(i, strings.Fields(call)...); err != nil {
			return 0, err
		}
	}
	switch {
	case !strings.Contains(said[0], "role:master"):
		return 0, nil
	case strings.Contains(said[1], " waiting "), strings.Contains(said[1], " moving "):
		return 0, errors.New(said[1])
	}
	return strconv.Atoi(said[2])
}

// check reads what clients wrote.
func (c *cluster) check() error {
	for _, w := range c.writers {
		defer w.close()
		for _, k := range w.keys {
			value := ""
			if err := c.until("GET "+k.name, func() (err error) {
				ok := false
				if value, ok = w.call(k.name, "GET", k.name); !ok {
					err = errors.New("no server has it")
				}
				return err
			}); err != nil {
				return err
			}
			if err := k.judge(value); err != nil {
				return err
			}
		}
	}
	return nil
}
