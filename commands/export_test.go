package commands

// For the tests that need the families, which import this package.
const MaxName = maxName

var SplitSyntax = splitSyntax
