from ..support import X
def test_a(): assert X
