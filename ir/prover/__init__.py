"""Proofs of order beyond the signs of coefficients, each by refuting the negation, with effort that is counted in steps.

`order` is the face: it negates the claim, collects what is known (`facts`), splits cases, and asks `refutation` whether all that
can be true at once. `refutation` multiplies facts by monomials until `cone` finds a sum of them that is negative and cannot be.
`squares` completes squares. `integers` shows integrality.
"""
