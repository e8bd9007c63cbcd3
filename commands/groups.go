package commands

// All lists the groups, in the order in which docs/commands.md shows them.
func All() []Group {
	return []Group{
		connectionGroup(), transactionsGroup(), pubsubGroup(), serverGroup(), genericGroup(),
		stringGroup(), bitmapGroup(), listGroup(), hashGroup(), hyperloglogGroup(), bloomGroup(),
		schedGroup(), placeGroup(),
	}
}
