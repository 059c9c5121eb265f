"""Hot spots: round places warmer than what lies around them, found in frames of a slice at several scales.

    frames --mean of blocks--> layer of a scale --bank: Laplacian of Gaussian, Sobel--> response, slope
           --ReLU above the threshold--> --max pooling--> peaks --quadratic fit--> spots --strongest of each place-->

A spot A exp(-r^2 / 2 s^2) answers to the scale-normalised Laplacian of a Gaussian of scale sigma with
2 A s^2 sigma^2 / (s^2 + sigma^2)^2 in its middle: A / 2 at the scale sigma = s, and less at any other. So the scale of
the greatest response is the size of the spot, and twice the response its rise over the surroundings, whatever the level
and the slope of these.

A peak counts if it exceeds the rise asked for and what noise may do. The noise of a cell, taken as independent of its
neighbours, is estimated from the frame itself; the response has to exceed k times its own noise, which is 0.4 noise /
(sigma in cells), with k such that white noise hardly ever makes a spot (5.6 to 6.6 from 10^5 to 10^7 cells; none in 200
frames of noise). A peak has to be round, not the bead of a ridge, and level, not the rim of something larger: the field
beneath may rise over one scale by a quarter of the spot at most.

What is found (A / noise: rise over the noise of a cell; s in cells; scales half an octave from s at most):
    found at all        from A / noise = 7 / s on (measured: 94 % or more at 6 / s, 76 % at 5 / s)
    to half a cell      from A / noise = 10 on: the place is known to 1.1 noise / A cells along either axis, whatever s
                        (theory: 0.98 for this estimate, 0.80 for the best there can be)
    told apart          at distances d with d^2 >= 2 (s1^2 + s2^2); of two nearer ones the stronger is reported
Noise that neighbours share, as in a smoothed slice, is underestimated; the rise asked for must then keep it out.
Beyond its edges a slice is taken as reflected, as behind an insulated face. Cells that are not solved (ambients) are
filled with what the nearest solid cell has; no spot is reported in them.

Source: Lindeberg, Feature detection with automatic scale selection, International Journal of Computer Vision 30 (1998).
"""

from heatsim.output.hotspots.finder import Spot, find_spots

__all__ = ["Spot", "find_spots"]
