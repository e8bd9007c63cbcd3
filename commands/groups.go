package commands

// All lists the groups, in the order in which docs/commands.md shows them.
func All() []Group {
	return []Group{
		ConnectionGroup(), TransactionGroup(), PubSubGroup(), ServerGroup(), GenericGroup(),
		StringGroup(), BitmapGroup(), ListGroup(), HashGroup(), HyperLogLogGroup(), BloomGroup(),
		SchedGroup(), PlaceGroup(),
	}
}
