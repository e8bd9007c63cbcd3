package scheduler

// BeliefOf is the model of a node's ephemeral content that a policy has learnt:
// for thompson the decay and the arrival rate that it drew last, which are what
// it ranks the node by. It returns false for policies that learn no such thing
// (what they go by are the node's parameters) and before anything was learnt.
func BeliefOf(p *PolicySpec, n *Node) (Interest, bool) {
	if p.Number != thompsonPolicy.Number || len(n.Memo) < thompsonMemo || !(n.Weight > 0) {
		return Interest{}, false
	}
	k, c := n.Memo[memoK], n.Memo[memoDecay]
	arrival := k * c / n.Weight
	if !(k > 0 && c > 0) || CheckNumber(c) != nil || CheckNumber(arrival) != nil {
		return Interest{}, false
	}
	return Interest{Weight: n.Weight, Arrival: arrival, Decay: c, Cost: n.Cost, MaxAge: n.MaxAge}, true
}
