package topology

import (
	"context"
	"fmt"
	"slices"
)

// members returns the addresses of clients of the other members of the own group.
func (c *Cluster) members() map[server]string {
	all := map[server]string{}
	for _, m := range c.opts.Own.Group().Members {
		if m.ID != c.opts.Self.Member && m.Address != "" {
			all[server{Group: c.name, Member: m.ID}] = m.Address
		}
	}
	return all
}

// servers returns the addresses of clients of all other servers of the cluster.
func (c *Cluster) servers() map[server]string {
	all := c.members()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, g := range c.table {
		for _, m := range g.Members {
			if m.Address != "" {
				all[server{Group: name, Member: m.ID}] = m.Address
			}
		}
	}
	return all
}

// announce exchanges names with those servers that are due.
func (c *Cluster) announce() {
	c.names.look()
	now := c.opts.Now()
	if !c.names.ripe(now) {
		return
	}
	due := c.names.due(now, c.servers())
	request := slices.Concat([]byte{namesRequest}, c.names.encode())
	for s, address := range due {
		c.contact(address, func(ctx context.Context) error {
			reply, err := c.askServer(ctx, address, MeshID(s.Group, s.Member), request)
			if err == nil {
				err = c.names.take(reply, c.servers())
			}
			if err != nil {
				return fmt.Errorf("names of servers: %w", err)
			}
			return nil
		})
	}
}
